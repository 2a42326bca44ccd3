package job

import "testing"

func TestDefinitionsHaveTheirNotifiersInCommon(t *testing.T) {
	var all notifies
	one := Notify{"ops": {URL: "x", When: Occasions()}}
	first := all.share(one)
	for name, n := range map[string]Notify{
		"another url":  {"ops": {URL: "y", When: Occasions()}},
		"another name": {"dev": {URL: "x", When: Occasions()}},
		"less":         {"ops": {URL: "x", When: Occasions()[:1]}},
		"two":          {"ops": {URL: "x", When: Occasions()}, "dev": {URL: "x"}},
		"none":         nil,
	} {
		if got := all.share(n); len(got) != len(n) || got["ops"].URL != n["ops"].URL || len(got["ops"].When) != len(n["ops"].When) {
			t.Errorf("%s: got %v, want %v", name, got, n)
		}
	}
	again := all.share(Notify{"ops": {URL: "x", When: Occasions()}})
	first["mark"] = Notifier{}
	if len(again) != 2 {
		t.Error("the same is kept twice")
	}
}
