package docs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/config"
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
