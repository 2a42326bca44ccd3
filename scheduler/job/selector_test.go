package job

import (
	"strings"
	"testing"
)

func TestSelectorsSelectAsKubectlDoes(t *testing.T) {
	jobs := map[string]map[string]string{
		"a": {"team": "a", "tier": "gold"}, "b": {"team": "b"}, "c": {"team": "c", "example.com/env": "prod"}, "none": nil,
	}
	for text, want := range map[string]string{
		"":                            "a b c none",
		"team=a":                      "a",
		"team==a":                     "a",
		" team = a ":                  "a",
		"team!=a":                     "b c none",
		"team in (a, b)":              "a b",
		"team in (a,b),tier":          "a",
		"team notin (a,b)":            "c none",
		"team":                        "a b c",
		"!team":                       "none",
		"team,!tier":                  "b c",
		"example.com/env=prod":        "c",
		"team=a,team=b":               "",
		"team=":                       "",
		"team in (a,b),team notin(b)": "a",
	} {
		s, err := ParseSelector(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		var got []string
		for _, name := range []string{"a", "b", "c", "none"} {
			if s.Matches(jobs[name]) {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: got %v, want %s", text, got, want)
		}
		if s.Empty() != (text == "") {
			t.Errorf("%q: empty is %v", text, s.Empty())
		}
	}
}

func TestBadSelectorsAreRefused(t *testing.T) {
	for _, text := range []string{
		",", "team=a,", "=a", "team=a b", "team in a", "team in (a", "team within (a)", "team in (a b)", "a b", "!", "team!", "te am=a",
		"team=(a)", "team>1", "-team=a", "/team", "Example.com/team=a", strings.Repeat("x", 64),
	} {
		if s, err := ParseSelector(text); err == nil {
			t.Errorf("%q is accepted: %+v", text, s)
		}
	}
}

func FuzzParseSelector(f *testing.F) {
	for _, seed := range []string{"", "team=a", "a in (b,c),!d", "a notin (", "x!=y,z=="} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSelector(text)
		if err != nil {
			return
		}
		again, err := ParseSelector(s.String())
		labels := map[string]string{"a": "b"}
		if err != nil || again.Matches(labels) != s.Matches(labels) {
			t.Errorf("%q: its own text %q means something else: %v", text, s, err)
		}
	})
}
