package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
)

func TestYAMLEqualsJSON(t *testing.T) {
	for name, doc := range map[string]string{
		"order":       `{"b": 1, "a": {"d": [1, 2.5, -3e4], "c": []}, "e": {}}`,
		"texts":       `{"a": "yes", "b": "12", "c": "", "d": "null", "e": "- x", "f": "a: b", "g": "#", "h": "2026-01-31", "i": "~", "j": "0x10", "k": "0o7", "l": "1e3"}`,
		"lines":       `{"a": "one\ntwo\n", "b": "  one\n\ttwo", "c": "\n", "d": "one\r\ntwo", "e": "a \nb"}`,
		"escapes":     `{"a": "tab\t bell\u0007 quote\" \\ \u2028 é 😀"}`,
		"surrogates":  `{"a": "\ud83d\ude00"}`,
		"keys":        `{"yes": 1, "12": 2, "": 3, "a b": 4, "? x": 5}`,
		"scalars":     `{"a": null, "b": true, "c": false, "d": 12345678901234567890}`,
		"solidus":     `{"a": "http:\/\/host"}`,
		"single text": `"x"`,
		"empty list":  `[]`,
		"merge key":   `{"<<": {"a": 1}, "b": "<<"}`,
	} {
		t.Run(name, func(t *testing.T) {
			out, err := toYAML([]byte(doc))
			if err != nil {
				t.Fatal(err)
			}
			var got, want any
			if err := yaml.Load(out, &got); err != nil {
				t.Fatalf("%v in\n%s", err, out)
			}
			if err := json.Unmarshal([]byte(doc), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(asJSON(t, want), asJSON(t, got)); diff != "" {
				t.Errorf("want -, got +:\n%s\nyaml:\n%s", diff, out)
			}
		})
	}
}

// asJSON encodes v as JSON and decodes it again, because YAML and JSON decode some values to different types.
func asJSON(t *testing.T, v any) any {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestYAMLHasQuotesForOtherPrograms(t *testing.T) {
	got, err := toYAML([]byte(`{"a": "12:30", "b": "=", "c": "no", "d": "x"}`))
	if want := "a: \"12:30\"\nb: \"=\"\nc: \"no\"\nd: x\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestColorsDoNotMoveColumns(t *testing.T) {
	rows := [][]any{
		{"NAME", tinted{"STATE", plain}, "REASON"},
		{"charge", tinted{"failed", red}, "exit\x1b[2J code"},
		{"nightly-backup", tinted{"", plain}, ""},
	}
	render := func(colored bool) string {
		p := &page{out: &bytes.Buffer{}, now: noon, color: colored}
		p.table(rows)
		return p.out.String()
	}
	want := "NAME             STATE    REASON\ncharge           failed   exit [2J code\nnightly-backup   -        -\n"
	if diff := cmp.Diff(want, render(false)); diff != "" {
		t.Errorf("without colors: want -, got +:\n%s", diff)
	}
	bare := render(true)
	for _, c := range []color{plain, red} {
		bare = strings.ReplaceAll(bare, "\x1b["+string(c)+"m", "")
	}
	if diff := cmp.Diff(want, strings.ReplaceAll(bare, "\x1b[0m", "")); diff != "" {
		t.Errorf("with colors: want -, got +:\n%s", diff)
	}
}

func TestALinkIsPrintedAsData(t *testing.T) {
	for format, want := range map[format]string{
		"": "http://q1:8470/\n", formatJSON: "{\n  \"url\": \"http://q1:8470/\"\n}\n", formatYAML: "url: http://q1:8470/\n", "jsonpath={.url}": "http://q1:8470/",
	} {
		var out bytes.Buffer
		c := &cli{out: &out, now: time.Now, format: format}
		if err := c.printLink("http://q1:8470/"); err != nil || out.String() != want {
			t.Errorf("-o %s: got %q, %v, want %q", format, out.String(), err, want)
		}
	}
}
