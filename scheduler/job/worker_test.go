package job

import "testing"

func TestAWorkerAcceptsOnlyItsKinds(t *testing.T) {
	specs := map[string]*Spec{
		"command": {Command: []string{"true"}}, "shell": {Shell: "true"}, "http": {HTTP: &HTTP{URL: "http://h"}}, "handler": {Handler: "f"},
		"kubernetes": {Kubernetes: &Kubernetes{Image: "i"}},
	}
	for _, c := range []struct {
		kinds []string
		want  map[string]bool
	}{
		{nil, map[string]bool{"command": true, "shell": true, "http": true, "handler": true}},
		{[]string{"http"}, map[string]bool{"http": true}},
		{[]string{"command"}, map[string]bool{"command": true, "shell": true}},
		{[]string{"kubernetes"}, map[string]bool{"kubernetes": true}},
		{[]string{"handler", "http"}, map[string]bool{"handler": true, "http": true}},
	} {
		w := &Worker{Name: "q1", Kinds: c.kinds, Handlers: []string{"f"}}
		for kind, spec := range specs {
			if got := w.Accepts(spec); got != c.want[kind] {
				t.Errorf("a worker of %v and a job with %s: got %v, want %v", c.kinds, kind, got, c.want[kind])
			}
		}
	}
}

func TestAWorkerWithoutAKindAcceptsTheOthers(t *testing.T) {
	w := Worker{
		Name: "q1", Kinds: []string{"command", "container", "kubernetes"}, Away: map[string]string{"container": "no engine answers"},
	}
	command, container := &Spec{Command: []string{"true"}}, &Spec{Container: &Container{Image: "i"}}
	if w.Accepts(container) || !w.Suits(container) || !w.Accepts(command) || w.AwayText() != "no container" {
		t.Errorf("%s: want a worker that accepts all but containers", w.AwayText())
	}
	if r := w.Ready(); !r.Accepts(container) || r.AwayText() != "" || w.Accepts(container) {
		t.Error("a worker that is ready accepts all its kinds, and the original does not change")
	}
}
