package config

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestDescribeAcceptsThePathsOfTheReference looks up keys by the headings of docs/reference/job-keys.md.
func TestDescribeAcceptsThePathsOfTheReference(t *testing.T) {
	for path, want := range map[string]string{
		"retry.max": "max", "params.NAME.type": "type", "limits.NAME.rate": "rate", "hooks.NAME.secret": "secret", "calendars.ics": "ics",
	} {
		if k, near, ok := Describe(path); !ok || k.Name != want {
			t.Errorf("%s: got %q, %v, near %v", path, k.Name, ok, near)
		}
	}
}

// A job file with the documented example of any key is accepted.
func TestExamplesAreAccepted(t *testing.T) {
	const rest = "\n  nightly-backup: {shell: x}\n  charge-check: {shell: x}\nlimits: {database: {concurrent: 1}}\nnotifiers: {ops: {url: 'generic://host/path'}}\n" +
		"calendars: {nyse: {weekdays: [mon-fri]}, holidays: {dates: ['2026-12-25']}}\n"
	try := func(path, text string) {
		t.Helper()
		if _, err := ParseJobs(path, []byte(text+rest)); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, k := range Keys() {
		action := "shell: x, "
		if slices.Contains(actions, k.Name) {
			action = ""
		}
		if k.Name == "output" {
			action = "http: {url: https://host}, "
		}
		try(k.Name, "jobs:\n  a: {"+action+k.Name+": "+k.Example+"}")
		for _, nested := range k.Keys {
			text := nested.Name + ": " + nested.Example
			switch {
			case k.Name == "retry" && nested.Name != "max":
				text += ", max: 1"
			case (k.Name == "http" || k.Name == "ping") && nested.Name != "url":
				text += ", url: https://host"
			case k.Name == "kubernetes" && nested.Name != "image":
				text += ", image: i"
			case k.Name == "calendar" && nested.Name != "on" && nested.Name != "not_on":
				text += ", on: nyse"
			case k.Name == "after" && nested.Name != "job":
				text += ", job: nightly-backup"
			case k.Name == "params" && (nested.Name == "min" || nested.Name == "max"):
				text = "p: {type: int, " + text + "}"
			case k.Name == "params":
				text = "p: {" + text + "}"
			case k.Name == "hooks" && nested.Name == "param":
				try(k.Name+"."+nested.Name, "jobs:\n  a: {"+action+"params: {env: {}}, hooks: {h: {secret: '${env:A}', "+nested.Name+": "+nested.Example+"}}}")
				continue
			case k.Name == "hooks":
				text = "h: {" + text + "}"
			}
			try(k.Name+"."+nested.Name, "jobs:\n  a: {"+action+k.Name+": {"+text+"}}")
		}
	}
	for _, k := range limitKeys {
		if _, err := ParseJobs("limits.yaml", []byte("limits: {a: {"+k.Name+": "+k.Example+"}}")); err != nil {
			t.Error(err)
		}
	}
	for _, k := range topHookKeys {
		text := k.Name + ": " + k.Example
		for _, other := range []string{"job: report", "secret: '${env:A}'"} {
			if !strings.HasPrefix(other, k.Name) {
				text += ", " + other
			}
		}
		if _, err := ParseJobs("hooks.yaml", []byte("jobs: {report: {shell: x, params: {env: {}}}}\nhooks: {a: {"+text+"}}")); err != nil {
			t.Error(err)
		}
	}
	for _, k := range notifierKeys {
		text := k.Name + ": " + k.Example
		if k.Name != "url" {
			text += ", url: 'generic://host/path'"
		}
		if _, err := ParseJobs("notifiers.yaml", []byte("notifiers: {a: {"+text+"}}")); err != nil {
			t.Error(err)
		}
	}
}

func TestCalendarExamplesAreAccepted(t *testing.T) {
	dir := t.TempDir()
	const events = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nDTSTART;VALUE=DATE:20261225\nEND:VEVENT\nEND:VCALENDAR\n"
	if err := os.WriteFile(filepath.Join(dir, "nyse.ics"), []byte(events), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, k := range calendarKeys {
		text := k.Name + ": " + k.Example
		if k.Name == "except" {
			text += ", weekdays: [mon-fri]"
		}
		if _, err := ParseJobs(filepath.Join(dir, "jobs.yaml"), []byte("calendars: {a: {"+text+"}}")); err != nil {
			t.Error(err)
		}
	}
}

func TestEveryKeyIsDescribed(t *testing.T) {
	var walk func(prefix string, keys []Key)
	walk = func(prefix string, keys []Key) {
		for _, k := range keys {
			path := prefix + k.Name
			if k.Doc == "" || k.Type == "" || k.Example == "" || !strings.HasSuffix(k.Doc, ".") {
				t.Errorf("%s has no doc, type or example: %+v", path, k)
			}
			if got, _, ok := Describe(path); !ok || got.Name != k.Name {
				t.Errorf("Describe(%q) finds %q, %v", path, got.Name, ok)
			}
			walk(path+".", k.Keys)
		}
	}
	walk("", Keys())
	walk("", FileKeys())
}

func TestDescribeSuggestsKeys(t *testing.T) {
	for path, want := range map[string]string{"shedule": "schedule", "retry.mox": "retry.max", "max_delay": "retry.max_delay", "zzzz": ""} {
		if _, near, ok := Describe(path); ok || !strings.Contains(strings.Join(near, " "), want) || want == "" && near != nil {
			t.Errorf("%s: got %v, %v; want %q", path, near, ok, want)
		}
	}
}

// A new key of a job changes three files. In package job these are the file with its field, default and range, and the file with
// its codec. In this package it is the file with the table.
func TestAJobKeyTouchesThreeFiles(t *testing.T) {
	names := []string{"missed_limit", "missed_window", "kill_grace", "priority", "open_for", "failure_ratio", "concurrent"}
	found := map[string][]string{}
	err := filepath.WalkDir("..", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == "test" || e.Name() == ".git"):
			return filepath.SkipDir
		case e.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, name := range names {
			if bytes.Contains(text, []byte(`"`+name+`"`)) || bytes.Contains(text, []byte(`"`+name+`,omit`)) {
				found[name] = append(found[name], path)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if files := found[name]; len(files) < 2 || len(files) > 3 || !slices.Contains(files, filepath.Join("..", "config", "jobkeys.go")) {
			t.Errorf("%s is named in %v, want its type, jobkeys.go and at most one other file", name, files)
		}
	}
}
