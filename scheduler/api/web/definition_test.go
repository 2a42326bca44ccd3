package web

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// A form may have 1 MiB. To read its definition must take little time, whatever it has.
func TestHostileDefinitionsAreReadInTime(t *testing.T) {
	keys := func(format string) string {
		var b strings.Builder
		for i := range 50_000 {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	bomb := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		bomb += fmt.Sprintf("%c: &%c [*%c, *%[3]c, *%[3]c, *%[3]c, *%[3]c, *%[3]c, *%[3]c, *%[3]c, *%[3]c]\n", 'b'+i, 'b'+i, 'a'+i)
	}
	for name, tt := range map[string]struct{ text, want string }{
		"many keys":           {keys("k%d: 1\n"), "at most 2000"},
		"many keys below":     {"env:\n" + keys("  k%d: 1\n"), "at most 2000"},
		"many aliases":        {"a: &a {x: 1}\n" + keys("k%d: *a\n"), "at most 2000"},
		"nested aliases":      {bomb, "not YAML"},
		"a large text, often": {"a: &a " + strings.Repeat("x", 10_000) + "\nb: [" + strings.Repeat("*a, ", 50_000) + "]", "larger than"},
		"deep lists":          {"a: " + strings.Repeat("[", 100_000), "not YAML"},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			if _, err := specOf(tt.text); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %.200v, want an error that says %q", err, tt.want)
			}
			if took := time.Since(began); took > 10*time.Second { // without the bound, many keys take minutes
				t.Errorf("it took %v", took)
			}
		})
	}
	if spec, err := specOf("jobs: {a: &a {shell: 'true'}}"); err != nil || spec["shell"].value != "true" {
		t.Errorf("a job file with one job: got %v, %v", spec, err)
	}
	if spec, err := specOf(""); err != nil || len(spec) != 0 {
		t.Errorf("no text: got %v, %v", spec, err)
	}
}

// The form takes the same text as a job file, so it must not change a value: the version 1.10 is not 1.1.
func TestADefinitionKeepsItsDigits(t *testing.T) {
	spec, err := specOf(`
env: &env {VERSION: 1.10, MODE: 0755, BIG: 12345678901234567890123, DAY: 2026-12-25, ON: yes}
payload: {amount: 10.00, none: ~, list: [1e3, "1.0", true, True, .5, +3]}
http: {headers: {<<: *env, X: 0x1F}}
exclude: [2026-12-25]
`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	if spec, err := specOf("payload: {1: 2, ~: 3}"); err == nil {
		t.Errorf("a missing key is left out: %v", spec)
	}
	env := `"BIG":12345678901234567890123,"DAY":"2026-12-25","MODE":"0755","ON":"yes","VERSION":1.10`
	want := `{"env":{` + env + `},"exclude":["2026-12-25"],"http":{"headers":{` + env + `,"X":"0x1F"}},` +
		`"payload":{"amount":10.00,"list":[1e3,"1.0",true,true,0.5,3],"none":null}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A job file may have more than its job, such as defaults. The form must not leave them out in silence.
func TestADefinitionLosesNothing(t *testing.T) {
	const job = "jobs: {a: {shell: 'true'}}\n"
	for name, tt := range map[string]struct{ text, want string }{
		"defaults":               {"defaults: {timezone: Europe/Berlin}\n" + job, "defaults beside the job"},
		"limits":                 {"version: 1\nlimits: {db: {concurrent: 1}}\n" + job, "limits beside the job"},
		"a second document":      {"shell: x\n---\nshell: y\n", "second document"},
		"a second job file":      {job + "---\n" + job, "second document"},
		"an empty one behind it": {"shell: x\n---\n", ""},
		"an empty one before it": {"--- ~\n---\nshell: x\n--- # nothing\n", ""},
		"an error behind it":     {job + "---\n[", "not YAML"},
		"a version":              {"version: 1\n" + job, ""},
		"one document":           {"---\n" + job + "...\n", ""},
		"YAML 1.2":               {"# a comment\n%YAML 1.2\n---\n" + job, ""},
		"an unknown version":     {"%YAML 1.3\n---\n" + job, "incompatible YAML"},
		"a text like a version":  {"shell: |\n  %YAML 1.2\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			spec, err := specOf(tt.text)
			if tt.want == "" && (err != nil || spec["shell"].value == nil) {
				t.Errorf("got %v, %v", spec, err)
			}
			if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, %v, want an error that says %q", spec, err, tt.want)
			}
		})
	}
}
