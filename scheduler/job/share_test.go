package job

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestDefinitionsShareSpecs checks that definitions with equal specs share one, and others do not.
func TestDefinitionsShareSpecs(t *testing.T) {
	read := func(name, op string, spec Spec) *Job {
		t.Helper()
		j, _ := Define(nil, name, spec, Origin{Kind: OriginAPI}, time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC))
		j.Op = op
		text, err := json.Marshal(j)
		if err != nil {
			t.Fatal(err)
		}
		var got Job
		if !got.ParseJSON(text) {
			t.Fatalf("%s is left to encoding/json", text)
		}
		if again, err := json.Marshal(got); err != nil || string(again) != string(text) {
			t.Errorf("read as %s (%v), written was %s", again, err, text)
		}
		return &got
	}
	daily := Spec{Schedule: []string{"@daily"}, Handler: "report"}.WithDefaults()
	first := read("a", "", daily)
	for _, op := range []string{"", "x-1", "x-2"} {
		if other := read("b", op, daily); other.Spec != first.Spec {
			t.Errorf("op %q: the spec is another one", op)
		}
	}
	hourly := daily
	hourly.Schedule = []string{"@hourly"}
	if other := read("c", "x-3", hourly); other.Spec == first.Spec {
		t.Error("the spec is that of another job")
	}
	long := daily
	long.Shell = strings.Repeat("true;", maxSharedSpec)
	if read("d", "", long).Spec == read("e", "", long).Spec {
		t.Error("a long spec is kept for sharing")
	}
	if empty := read("f", "x-4", Spec{}); empty.Spec == nil {
		t.Error("no spec was read")
	}
}

// TestSharedSpecsAreBounded reads more different specs than are kept.
func TestSharedSpecsAreBounded(t *testing.T) {
	s := sharedSpecs{byJSON: make(map[string]*Spec)}
	var text []byte
	for i := range 2*maxSharedSpecs + 5 {
		text = append(text[:0], byte(i), byte(i>>8), byte(i>>16))
		s.put(text, new(Spec))
		if s.get(text) == nil {
			t.Fatal("the latest is not kept")
		}
		if len(s.byJSON) > maxSharedSpecs {
			t.Fatalf("%d are kept", len(s.byJSON))
		}
	}
}

func TestDefinitionsShareNotifiers(t *testing.T) {
	var all notifies
	one := Notify{"ops": {URL: "x", When: Occasions()}}
	first := all.share(one)
	for name, n := range map[string]Notify{
		"another url":  {"ops": {URL: "y", When: Occasions()}},
		"another name": {"dev": {URL: "x", When: Occasions()}},
		"after":        {"ops": {URL: "x", When: Occasions(), After: 3}},
		"repeat":       {"ops": {URL: "x", When: Occasions(), Repeat: 1}},
		"template":     {"ops": {URL: "x", When: Occasions(), Template: "t"}},
		"less":         {"ops": {URL: "x", When: Occasions()[:1]}},
		"two":          {"ops": {URL: "x", When: Occasions()}, "dev": {URL: "x"}},
		"none":         nil,
	} {
		if got := all.share(n); !reflect.DeepEqual(got, n) {
			t.Errorf("%s: got %v, want %v", name, got, n)
		}
	}
	again := all.share(Notify{"ops": {URL: "x", When: Occasions()}})
	first["mark"] = Notifier{}
	if len(again) != 2 {
		t.Error("an equal value is not shared")
	}
}
