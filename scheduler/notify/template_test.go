package notify

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestTemplatesAreChecked(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`{"text": {{ json .Title }}, "n": {{ .Failures }}}{{ if eq .Occasion "recovery" }}ok{{ end }}`, ""},
		{"{{ .Job }}\n{{ .Nothing }}", "line 2: <.Nothing>: can't evaluate field Nothing in type notify.Fields"},
		{"a\nb {{ jsn .Job }}", `line 2: function "jsn" not defined`},
		{"{{ if .Job }}", "line 1: {{ end }} is missing"},
		{"{{ range 1000000000000 }}{{ end }}", "range and template are not allowed, since they may run for ever"},
		{`{{ define "a" }}{{ template "a" }}{{ end }}{{ template "a" }}`, "range and template are not allowed, since they may run for ever"},
		{`{{ printf "%65537d" 1 }}`, "line 1: <printf \"%65537d\" 1>: error calling printf: printf pads a value to at most 999 characters"},
		{strings.Repeat(`{{ printf "%900d" 1 }}`, 100), "its text is longer than 64 KiB"},
		{`{{ $x := "ab" }}` + strings.Repeat("{{ $x = print $x $x }}", 100), "line 1: <print $x $x>: error calling print: the template makes too much text"},
		{`{{ $x := json "\"" }}` + strings.Repeat("{{ $x = json $x }}", 100), "line 1: <json $x>: error calling json: the template makes too much text"},
	} {
		got := ""
		if err := CheckTemplate(tt.text); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestATemplateMakesValidJSON(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	n := Notice{Job: "pay", Failures: 3, Run: &job.Run{
		Job: "pay", ID: "x", Slot: at, State: job.Failed, Reason: "it said \"no\"\n\\ <b>", Worker: "w1", Attempt: 2, Finished: at,
	}}
	m := n.Message(job.OnFailure, "line 1\nline \"2\"", "http://q1:8470")
	m.Template = `{"t": {{ json .Title }}, "b": {{ json .Body }}, "why": {{ json .Reason }}, "o": {{ json .Output }}, "n": {{ .Failures }},
"run": {{ json .Run }}, "slot": {{ json .Slot }}, "ended": {{ json .Ended }}, "url": {{ json .URL }}, "on": {{ json .Occasion }}}`
	text, err := m.Fill()
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	for key, want := range map[string]any{
		"t": "rota: job pay failed", "why": n.Run.Reason, "o": "line 1\nline \"2\"", "n": 3.0, "run": "pay/x", "on": "failure",
		"slot": "2026-01-02T03:04:05Z", "ended": "2026-01-02T03:04:05Z", "url": "http://q1:8470/v1/runs/pay/x", "b": m.Body,
	} {
		if got[key] != want {
			t.Errorf("%s is %q, want %q", key, got[key], want)
		}
	}

	sum := Summary(map[job.Occasion]int{job.OnFailure: 37}, []string{"job a failed"})
	sum.Template = "{{ .Count }} {{ .Title }}{{ .Job }}"
	if text, err := sum.Fill(); err != nil || text != "37 rota: 37 more notifications" {
		t.Errorf("a summary: %q, %v", text, err)
	}
	m.Template = `{{ .Output }}`
	m.Fields.Output = strings.Repeat("x", maxFilled+1)
	if _, err := m.Fill(); err == nil {
		t.Error("a text beyond the bound was filled in")
	}
}
