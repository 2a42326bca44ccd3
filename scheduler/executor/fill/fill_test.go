package fill_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor/fill"
)

func TestCheck(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"plain text", "a } b ${HOME}", ""},
		{"fields", `{{ .Job }} {{ .Run | urlquery }} {{ .Slot }} {{ .Slot.Format "2006" }} {{ .Attempt }} {{ .Token }}`, ""},
		{"references are not resolved", "${env:NOWHERE_TO_BE_FOUND} ${file:/nowhere}", ""},
		{"beside a reference", "${env:A}{{ if gt .Attempt 1 }}again{{ end }}", ""},
		{"a slice that only long names allow", "{{ slice .Job 0 60 }}", ""},
		{"an endless loop is not executed", "{{ range 1000000000000 }}{{ end }}", ""},
		{"a recursion is not executed", `{{ define "a" }}{{ template "a" }}{{ template "a" }}{{ end }}{{ if true }}{{ template "a" }}{{ end }}`, ""},
		{"a word", "Hello {{name}}", `function "name" not defined`},
		{"a value that doubles", `{{ $x := "a" }}` + strings.Repeat("{{ $x = print $x $x }}", 60), "<print $x $x>: error calling print: the template makes too much text"},
		{"a long layout", `{{ .Slot.Format (printf "%200s" "") }}`, "<.Slot.Format>: error calling Format: the layout of a time has more than 128 bytes"},
		{"no end", "{{ if .Slot }}x", "{{ end }} is missing"},
		{"a field that does not exist", `{{ printf "%s" .Foo }}`, "<.Foo>: can't evaluate field Foo in type fill.Fields"},
		{"a method that does not exist", "{{ .Slot.Foo }}", "<.Slot.Foo>: can't evaluate field Foo in type fill.Instant"},
		{"a mistake in a loop", "{{ range 3 }}{{ name }}{{ end }}", `function "name" not defined`},
		{"a reference within an action", `{{ printf "Bearer %s" "${env:A}" }}`, "reference ${env:A} stands within {{ }}: write it outside"},
		{"a reference behind one", `{{ .Job }}{{ "{{" }} ${env:A}`, ""},
		{"a reference without an end", "${env:A", "reference ${env:: closing brace is missing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if err := fill.Check(tt.text); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestCheckAgreesWithText checks that Check refuses exactly the texts that Text cannot fill in.
func TestCheckAgreesWithText(t *testing.T) {
	at := fill.Instant{Time: time.Date(2026, 11, 21, 2, 30, 0, 0, time.UTC)}
	f := fill.Filler{
		Fields:  fill.Fields{Job: "charge", Run: "charge/2026-11-21T02:30:00Z", Slot: at, Attempt: 2, Token: 77, Key: "k", Deadline: at},
		Resolve: func(ref string) (string, error) { return strings.ToUpper(ref), nil },
	}
	for text, want := range map[string]string{
		"{{ .Job }}/${env:a}": "charge/${ENV:A}", "{{ .Slot.Format \"2006-01\" }}": "2026-11", "{{ .Key }}": "k",
		"{{name}}": "", "{{ .Foo }}": "", "{{ if .Slot }}": "", `{{ printf "%9999s" .Key }}`: "", "{{ len .Attempt }}": "",
	} {
		got, err := f.Text("body", text)
		if got != want || (err == nil) != (fill.Check(text) == nil) {
			t.Errorf("%s: got %q %v, and %v from Check, want %q", text, got, err, fill.Check(text), want)
		}
		var mistake *fill.Mistake
		if err != nil && !errors.As(err, &mistake) {
			t.Errorf("%s: got %v, want a Mistake", text, err)
		}
	}
}
