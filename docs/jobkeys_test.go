package docs_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/docpage"
)

// TestJobKeysReference compares the reference of job keys with the table from which job files are read.
func TestJobKeysReference(t *testing.T) {
	var page strings.Builder
	page.WriteString("## Keys of a job\n")
	describeKeys(&page, "", config.Keys())
	for _, k := range config.FileKeys() {
		if k.Name == "limits" || k.Name == "notifiers" || k.Name == "calendars" || k.Name == "hooks" {
			fmt.Fprintf(&page, "\n## Keys of `%s`\n\n%s\n", k.Name, k.Doc)
			describeKeys(&page, k.Name+".NAME.", k.Keys)
		}
	}
	docpage.Check(t, "reference/job-keys.md", "keys", page.String(), *update)
}

// TestKeysThatCannotBeDefaults compares the list of write-a-job-file.md with the keys that defaults refuses.
func TestKeysThatCannotBeDefaults(t *testing.T) {
	const page = "how-to/write-a-job-file.md"
	list := regexp.MustCompile(`(?s)\nThe keys ([^.]*)cannot be defaults`).FindStringSubmatch(read(t, page))
	if list == nil {
		t.Fatalf("%s has no list of the keys that cannot be defaults", page)
	}
	var got, want []string
	for _, m := range quoted.FindAllStringSubmatch(list[1], -1) {
		got = append(got, m[1])
	}
	for _, k := range config.Keys() {
		_, err := config.ParseJobs("jobs.yaml", []byte("defaults: {"+k.Name+": "+k.Example+"}"))
		if err != nil && strings.Contains(err.Error(), "cannot be a default") {
			want = append(want, k.Name)
		}
	}
	same(t, page, got, want)
}

// TestTheKindsOfActionsAreListed looks for each kind of action where a page says that a job has exactly one.
func TestTheKindsOfActionsAreListed(t *testing.T) {
	for _, page := range []string{"reference/job-keys.md", "how-to/write-a-job-file.md"} {
		list := regexp.MustCompile(`(?s)exactly one\s+of ([^.]*)\.`).FindStringSubmatch(read(t, page))
		if list == nil {
			t.Fatalf("%s does not say that a job has exactly one action", page)
		}
		for _, kind := range job.Kinds() {
			if !strings.Contains(list[1], "`"+kind+"`") {
				t.Errorf("%s does not name %s", page, kind)
			}
		}
	}
}

// describeKeys writes an entry for each key, and for the keys below it.
func describeKeys(page *strings.Builder, prefix string, keys []config.Key) {
	for i := range keys {
		k := &keys[i]
		fmt.Fprintf(page, "\n### `%s%s`\n\n%s\n\n", prefix, k.Name, k.Doc)
		fmt.Fprintf(page, "| type | default | range | example |\n|---|---|---|---|\n| %s | %s | %s | %s |\n",
			k.Type, code(k.Default), dash(k.Range), code(k.Example))
		if k.Zero != "" {
			fmt.Fprintf(page, "\nWithout it: %s\n", k.Zero)
		}
		below := prefix + k.Name + "."
		if k.Name == "params" || k.Name == "hooks" {
			below += "NAME."
		}
		describeKeys(page, below, k.Keys)
	}
}

// code quotes a value of a table.
func code(text string) string {
	if text == "" {
		return "-"
	}
	return "`" + strings.ReplaceAll(text, "|", `\|`) + "`"
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
