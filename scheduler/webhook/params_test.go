package webhook_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/webhook"
)

func TestParams(t *testing.T) {
	const body = `{"environment": "prod", "build": 1e3, "dry": false, "none": null, "tags": ["a", {"b": 1}], "by": {"name": "<no value>"},
		"nested": {"id": 12345678901234567890}}`
	for template, want := range map[string]string{
		"{{ .Body.environment }}":                        "prod",
		"{{ .Body.build }}":                              "1e3",
		"{{ .Body.nested.id }}":                          "12345678901234567890",
		"{{ .Body.dry }}":                                "false",
		"{{ .Body.tags }}":                               `["a",{"b":1}]`,
		"{{ .Body.nested }}":                             `{"id":12345678901234567890}`,
		"{{ index .Body.tags 0 }}":                       "a",
		"{{ (index .Body.tags 1).b }}":                   "1",
		`{{ index .Body "environment" | printf "%s!" }}`: "prod!",
		"{{ with .Body.by }}{{ with .name }}named{{ end }}{{ end }}": "named",
		`{{ if eq .Body.environment "prod" }}live{{ end }}`:          "live",
		"{{ .ID }}": "msg_1",
		"plain":     "plain",
		"":          "",
	} {
		got, err := webhook.Params(map[string]string{"p": template}, "msg_1", []byte(body))
		if err != nil || got["p"] != want {
			t.Errorf("%s: got %q, %v, want %q", template, got["p"], err, want)
		}
	}
	for template, want := range map[string]string{
		"{{ .Body.missing }}":          `no entry for key "missing"`,
		"{{ .Body.none }}":             `no entry for key "none"`,
		"{{ .Body.environment.name }}": "parameter p: ",
		"{{ index .Body.tags 7 }}":     "index out of range",
		"{{ .Body.by.name }}":          "no value",
		`{{ printf "%5000s" .ID }}`:    "at most 999 characters",
		`{{ printf "%999s%999s%999s%999s%999s" .ID .ID .ID .ID .ID }}`:                    "too long",
		`{{ $x := "a" }}` + strings.Repeat(`{{ $x = print $x $x }}`, 40) + `{{ len $x }}`: "too much text",
	} {
		got, err := webhook.Params(map[string]string{"p": template}, "msg_1", []byte(body))
		refusal, _ := errors.AsType[*webhook.Refusal](err)
		if refusal == nil || refusal.Status != 422 || !strings.Contains(refusal.Reason, want) || got != nil {
			t.Errorf("%s: got %v, %v, want a refusal with %q", template, got, err, want)
		} else if strings.Contains(refusal.Reason, "prod") {
			t.Errorf("%s: the reason has a value of the body: %s", template, refusal.Reason)
		}
	}
	for _, body := range []string{"", "month=1", `{"environment": "prod"} {}`, `{"environment": "pr`, "{\"environment\": \"\xff\"}"} {
		_, err := webhook.Params(map[string]string{"p": "{{ .Body.environment }}"}, "m", []byte(body))
		if err == nil || !strings.Contains(err.Error(), "the body is no JSON") {
			t.Errorf("%q: got %v", body, err)
		}
		if got, err := webhook.Params(map[string]string{"p": "{{ .ID }}"}, "m", []byte(body)); err != nil || got["p"] != "m" {
			t.Errorf("%q: without its body: got %v, %v", body, got, err)
		}
	}
	if got, err := webhook.Params(nil, "m", nil); got != nil || err != nil {
		t.Errorf("no parameters: got %v, %v", got, err)
	}
}

func TestCheckTemplate(t *testing.T) {
	for template, literal := range map[string]bool{"prod": true, "": true, "{{ .Body.x }}": false, "a{{ .ID }}": false, "{{/* x */}}a": true} {
		got, ok, err := webhook.CheckTemplate(template)
		if err != nil || ok != literal || ok && template == "prod" && got != "prod" {
			t.Errorf("%q: got %q, %t, %v", template, got, ok, err)
		}
	}
	for template, want := range map[string]string{
		"{{ .Body.x ":                               "unclosed action",
		"{{ if .Body.x }}":                          "{{ end }} is missing",
		"{{ .Header.x }}":                           "unknown field .Header: use .Body or .ID",
		"{{ if .Boddy.x }}{{ end }}":                "unknown field .Boddy",
		"{{ index (printf .X) 0 }}":                 "unknown field .X",
		"{{ range .Body.x }}{{ end }}":              "loop",
		`{{ define "x" }}{{ end }}`:                 "another template",
		`{{ with .ID }}{{ template "t" }}{{ end }}`: "call of a template",
		`{{ shell "x" }}`:                           "not defined",
	} {
		if _, _, err := webhook.CheckTemplate(template); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", template, err, want)
		}
	}
}

// FuzzParams fills in templates with any body. It must never panic, and never return a value that is too long.
func FuzzParams(f *testing.F) {
	f.Add("{{ .Body.a }}", `{"a": 1}`)
	f.Add("{{ index .Body 0 }}", `[{}]`)
	f.Add(`{{ with .Body }}{{ len . }}{{ end }}`, `{"a": null}`)
	f.Fuzz(func(t *testing.T, template, body string) {
		got, err := webhook.Params(map[string]string{"p": template}, "m", []byte(body))
		if err == nil && len(got["p"]) > job.MaxParamValue {
			t.Errorf("%d bytes", len(got["p"]))
		}
	})
}
