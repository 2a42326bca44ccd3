package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rota-scheduler/rota/config"
)

func TestCheckPrintsMistakesAsData(t *testing.T) {
	file := filepath.Join(t.TempDir(), "jobs.yaml")
	text := "version: 1\njobs:\n  a:\n    schedul: \"1 2 3 4 5\"\n    command: [date]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, stderr := runHere(nil, "check", file, filepath.Join(filepath.Dir(file), "none.yaml"), "-o", "json")
	if code != exitBadConfig || stderr != "rota: 2 mistakes found\n" {
		t.Errorf("got %d, %q", code, stderr)
	}
	var got struct {
		Jobs, Mistakes []map[string]any
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	want := []map[string]any{
		{"file": file, "line": 4.0, "column": 5.0, "message": `unknown key "schedul"`,
			"excerpt": "    schedul: \"1 2 3 4 5\"\n    ^", "hint": "did you mean schedule?"},
		{"file": filepath.Join(filepath.Dir(file), "none.yaml"), "message": "does not exist",
			"hint": "check the path; relative paths start at the working directory"},
	}
	for _, m := range got.Mistakes {
		if text, _ := m["message"].(string); strings.HasPrefix(text, `unknown key "schedul"`) {
			m["message"] = `unknown key "schedul"`
		}
	}
	if diff := cmp.Diff(want, got.Mistakes); diff != "" || got.Jobs == nil {
		t.Errorf("%s (-want +got):\n%s", out, diff)
	}
	if code, out, stderr := runHere(nil, "check", file); code != exitBadConfig || out != "" || !strings.HasPrefix(stderr, file+":4:5: unknown key") {
		t.Errorf("for people: got %d, %q, %q", code, out, stderr)
	}
}

func TestAScheduleThatHasEndedCausesAWarning(t *testing.T) {
	file := filepath.Join(t.TempDir(), "jobs.yaml")
	text := "version: 1\njobs:\n  gone: {at: 2026-11-20T00:00:00Z, command: [date]}\n  soon: {at: 2026-11-22T00:00:00Z, command: [date]}\n  asked: {command: [date]}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	want := "valid: 3 jobs in 1 file\nwarning: " + file + ":3: job gone: never fires again after 2026-11-21T11:00:00Z\n"
	if code, out, _ := runHere(nil, "check", file); code != exitOK || out != want {
		t.Errorf("check: got %d, %q; want %q", code, out, want)
	}

	set, err := config.ParseJobs("stdin", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	c := &cli{now: func() time.Time { return time.Date(2026, 11, 21, 11, 0, 0, 0, time.UTC) }}
	changes, err := compareJobs(set, nil, pruning{}, c.now())
	if err != nil {
		t.Fatal(err)
	}
	writeChanges(&page{out: &out, now: c.now()}, changes)
	if got := out.String(); strings.Count(got, "warning:") != 1 || !strings.Contains(got, "+ gone created\n    warning: the schedule has no more slots") {
		t.Errorf("apply: got %q", got)
	}
}
