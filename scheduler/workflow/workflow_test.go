package workflow_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/workflow"
)

// specs reads definitions such as "report: check backup?done; backup".
func specs(text string) map[string]*job.Spec {
	all := make(map[string]*job.Spec)
	for one := range strings.SplitSeq(text, ";") {
		name, parents, _ := strings.Cut(strings.TrimSpace(one), ":")
		s := &job.Spec{}
		for p := range strings.FieldsSeq(parents) {
			parent, when, _ := strings.Cut(p, "?")
			s.After = append(s.After, job.After{Job: parent, When: job.When(when)})
		}
		all[name] = s
	}
	return all
}

func TestGraph(t *testing.T) {
	g := workflow.Of(specs("extract; left: extract; right: extract; join: left right; alone; gone: nobody"))
	for _, c := range []struct {
		got  []string
		want string
	}{
		{g.Workflow("right"), "extract left right join"},
		{g.Behind("extract"), "left right join"},
		{g.Behind("left"), "join"},
		{g.Roots("join"), "extract"},
		{g.Workflow("alone"), "alone"},
		{workflow.Of(specs("b: ; c: ; a: ; d: ; e: ; join: e c a d b")).Workflow("join"), "a b c d e join"},
		{g.Workflow("gone"), "gone"},
		{g.Cycle("join"), ""},
	} {
		if got := strings.Join(c.got, " "); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	loop := workflow.Of(specs("a: c; b: a; c: b; self: self"))
	if got := strings.Join(loop.Cycle("b"), " "); got != "b a c b" {
		t.Errorf("cycle: got %q", got)
	}
	for _, name := range []string{"a", "self"} { // none of them may run for ever
		loop.Workflow(name)
		loop.Behind(name)
		loop.Depths()
	}
}

// TestOnlyWhatDidNotRunIsResumed resumes a workflow from a step that failed.
func TestOnlyWhatDidNotRunIsResumed(t *testing.T) {
	g := workflow.Of(specs("extract; left: extract; right: extract; join: left right; tell: join; alarm: left?failure; clean: join?done"))
	runs := map[string]*job.Run{}
	for name, state := range map[string]job.State{
		"extract": job.Succeeded, "left": job.Failed, "right": job.Succeeded, "join": job.Skipped, "tell": job.Skipped,
		"alarm": job.Succeeded, "clean": job.Succeeded,
	} {
		r := &job.Run{Job: name, ID: "x", State: state}
		for _, a := range g.Parents(name) {
			r.After = append(r.After, job.Parent{Job: a.Job, When: a.When, State: job.Succeeded})
		}
		runs[r.Name()] = r
	}
	again := job.Run{Job: "left", ID: "y", Kind: job.KindRetry, RetryOf: "left/x"}
	steps := g.Resume(runs["left/x"], &again, in(runs), never, generation1)
	for _, r := range steps {
		if !r.AwaitsParents() {
			t.Errorf("%s does not wait", r.Name())
		}
	}
	want := []string{"join/y of join/x after left/y right/x", "tell/y of tell/x after join/y"}
	if got := resumed(steps); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	delete(runs, "join/x")
	again.Params = map[string]string{"of": "left"}
	if steps := g.Resume(runs["left/x"], &again, in(runs), never, generation1); len(steps) != 2 || steps[0].Params != nil || steps[0].RetryOf != "" {
		t.Errorf("a step without a run gets %+v", steps)
	}
	if p := workflow.Follow(runs["left/x"]); len(p) != 1 || p[0].ID != "x" {
		t.Errorf("the repeated run follows %+v, want the run of the old id", p)
	}
}

func TestWhen(t *testing.T) {
	for _, s := range job.States() {
		failure := s == job.Failed || s == job.TimedOut || s == job.Lost
		if job.WhenSuccess.Met(s) != (s == job.Succeeded) || job.WhenFailure.Met(s) != failure || job.WhenDone.Met(s) != s.Terminal() {
			t.Errorf("%s meets success %v, failure %v, done %v", s, job.WhenSuccess.Met(s), job.WhenFailure.Met(s), job.WhenDone.Met(s))
		}
	}
}

// TestDecide decides a step with two parents by how they stand.
func TestDecide(t *testing.T) {
	ended := func(s job.State) workflow.Standing {
		return workflow.Standing{Run: &job.Run{State: s, After: []job.Parent{{Job: "z"}}}}
	}
	root := workflow.Standing{Run: &job.Run{State: job.Skipped}}
	behind := workflow.Standing{Run: &job.Run{State: job.Skipped, After: []job.Parent{{Job: "z"}}, SlotSkipped: true}}
	for name, c := range map[string]struct {
		a, b        workflow.Standing
		waits, skip string
		slot        bool
	}{
		"both succeeded":          {a: ended(job.Succeeded), b: ended(job.Succeeded)},
		"one waits":               {a: ended(job.Failed), waits: "b", skip: "parent a failed"},
		"both wait":               {waits: "a"},
		"one failed":              {a: ended(job.TimedOut), b: ended(job.Failed), skip: "parent a timed out"},
		"one was canceled":        {a: ended(job.Canceled), b: ended(job.Canceled), skip: "parent a was canceled"},
		"b may end in any way":    {a: ended(job.Succeeded), b: ended(job.Skipped)},
		"a root skipped the slot": {a: ended(job.Succeeded), b: root, skip: "parent b was skipped", slot: true},
		"a step behind one did":   {a: ended(job.Succeeded), b: behind, skip: "parent b was skipped", slot: true},
		"one has no run":          {a: ended(job.Failed), b: workflow.Standing{Missing: true}, skip: "parent b has no run b/x", slot: true},
		"one does not exist": {
			a: ended(job.Succeeded), b: workflow.Standing{Missing: true, NoJob: true}, skip: "parent b does not exist", slot: true,
		},
	} {
		r := &job.Run{ID: "x", After: []job.Parent{{Job: "a"}, {Job: "b", When: job.WhenDone}}}
		v := workflow.Decide(r, func(p job.Parent) workflow.Standing { return map[string]workflow.Standing{"a": c.a, "b": c.b}[p.Job] })
		if v.Waits != c.waits || v.Skip != c.skip || v.SlotSkipped != c.slot {
			t.Errorf("%s: got %+v", name, v)
		}
	}
	done := workflow.Standing{Run: &job.Run{State: job.Succeeded, Outputs: map[string]string{"a": "b"}}}
	v := workflow.Decide(&job.Run{After: []job.Parent{{Job: "a"}, {Job: "b"}}}, func(p job.Parent) workflow.Standing {
		return map[string]workflow.Standing{"a": done, "b": ended(job.Succeeded)}[p.Job]
	})
	if want := []job.Parent{{Job: "a", State: job.Succeeded, Outputs: true}, {Job: "b", State: job.Succeeded}}; !slices.Equal(v.After, want) {
		t.Errorf("got %+v, want %+v", v.After, want)
	}
	lost := func(job.Parent) workflow.Standing { return workflow.Standing{Missing: true} }
	for a, skip := range map[job.Parent]string{
		{Job: "a", State: job.Succeeded}:                "",
		{Job: "a", State: job.Succeeded, Outputs: true}: "parent a has no run a/x",
		{Job: "a", State: job.Failed}:                   "parent a failed",
		{Job: "a"}:                                      "parent a has no run a/x",
	} {
		v := workflow.Decide(&job.Run{ID: "x", After: []job.Parent{a}}, lost)
		if v.Skip != skip || v.Waits != "" || v.After[0] != a {
			t.Errorf("history has lost a run that ended %+v: got %+v", a, v)
		}
	}
}

func TestSkippedForParents(t *testing.T) {
	met, unmet := job.Parent{Job: "a", State: job.Succeeded}, job.Parent{Job: "a", State: job.Failed}
	for name, c := range map[string]struct {
		run  job.Run
		want bool
	}{
		"a parent failed":        {job.Run{State: job.Skipped, After: []job.Parent{met, unmet}}, true},
		"a slot without the job": {job.Run{State: job.Skipped, SlotSkipped: true, After: []job.Parent{met}}, true},
		"a person rejected it":   {job.Run{State: job.Skipped, After: []job.Parent{met}}, false},
		"it failed":              {job.Run{State: job.Failed, After: []job.Parent{unmet}}, false},
		"it follows none":        {job.Run{State: job.Skipped}, false},
	} {
		if got := workflow.SkippedForParents(&c.run); got != c.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}
