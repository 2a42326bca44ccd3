package config_test

import (
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

const goodHash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

func TestAnAuthFileSaysWhoHasWhichRole(t *testing.T) {
	f, err := config.ParseAuth("auth.yaml", []byte(`
tokens:
  - {id: k3j2h8w4q9xz, sha256: `+goodHash+`, principal: ci, groups: [deploy], role: operator, jobs: ["team-a-*"], expires: 2030-01-01T00:00:00Z}
bindings:
  - {principal: alice, role: admin}
  - {group: sre, role: author-command, jobs: [backup, "team-*"]}
certificates: {ci.internal: ci}
`))
	if err != nil {
		t.Fatal(err)
	}
	if token := f.Token("k3j2h8w4q9xz"); token == nil || token.Principal != "ci" || token.Role != auth.Operator || token.Expires.IsZero() {
		t.Errorf("got %+v", token)
	}
	if len(f.Bindings) != 2 || f.Bindings[0].Role != auth.Administrator || f.Bindings[1].Group != "sre" || f.Certificates["ci.internal"] != "ci" {
		t.Errorf("got %+v", f)
	}
}

func TestABadAuthFileNamesThePlace(t *testing.T) {
	for text, want := range map[string]string{
		"": "auth.yaml:1:1: auth file is empty",
		"tokens: [{id: x, sha256: abc, principal: ci}]":          "sha256 is no SHA-256",
		"tokens: [{id: x, sha256: " + goodHash + "}]":            "tokens 1 has no principal",
		"bindings: [{role: admin}]":                              "for one principal or one group",
		"bindings: [{principal: a, group: b, role: admin}]":      "for one principal or one group",
		"bindings: [{principal: a, role: root}]":                 "root",
		"bindings: [{principal: a, role: admin, jobs: ['[']}]":   "no pattern",
		"bindings: [{principal: a, role: admin, scope: x}]":      "unknown key",
		"bindings: {principal: a, role: admin}":                  "must be a list",
		"users: []":                                              "unknown key",
		"bindings: [{principal: a, role: admin}]\n---\nusers: 1": "one YAML document",
	} {
		_, err := config.ParseAuth("auth.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error that says %q", text, err, want)
		}
	}
}

func FuzzParseAuth(f *testing.F) {
	f.Add([]byte("bindings: [{principal: a, role: admin}]"))
	f.Add([]byte("tokens: [{id: x, sha256: " + goodHash + ", principal: ci}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := config.ParseAuth("auth.yaml", text)
		for _, b := range file.Bindings {
			if err == nil && (b.Role == "" || b.Principal == "" && b.Group == "") {
				t.Errorf("%q makes a binding of nobody or nothing: %+v", text, b)
			}
		}
	})
}
