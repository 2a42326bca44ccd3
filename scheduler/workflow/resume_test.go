package workflow_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/workflow"
)

// TestASecondResumeRepeatsNoSuccess resumes a workflow from a run that a resume made, and that failed again. Steps that succeeded
// with the first id have no run with the second one.
func TestASecondResumeRepeatsNoSuccess(t *testing.T) {
	g := workflow.Of(specs("left: ; right: ; join: left right; clean: left?done; tell: join clean?done"))
	runs := map[string]*job.Run{}
	put := func(name, id, of string, s job.State, after ...job.Parent) *job.Run {
		r := &job.Run{Job: name, ID: id, State: s, RetryOf: of, After: after}
		runs[r.Name()] = r
		return r
	}
	follows := func(name, id string) job.Parent { return job.Parent{Job: name, ID: id} }
	put("left", "x", "", job.Failed)
	put("right", "x", "", job.Succeeded)
	put("clean", "x", "", job.Succeeded, follows("left", ""))
	put("join", "x", "", job.Skipped, follows("left", ""), follows("right", ""))
	put("tell", "x", "", job.Skipped, follows("join", ""), follows("clean", ""))
	old := put("left", "y", "left/x", job.Failed)
	put("join", "y", "join/x", job.Skipped, follows("left", ""), follows("right", "x"))

	again := job.Run{Job: "left", ID: "z", Kind: job.KindRetry, RetryOf: "left/y"}
	got := resumed(g.Resume(old, &again, in(runs), never, generation1))
	if want := []string{
		"join/z of join/y after left/z right/x", "tell/z of tell/x after join/z clean/x",
	}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}

	// A third one finds the first runs.
	old = put("left", "z", "left/y", job.Failed)
	put("join", "z", "join/y", job.Skipped, follows("left", ""), follows("right", "x"))
	again = job.Run{Job: "left", ID: "v", Kind: job.KindRetry, RetryOf: "left/z"}
	want := []string{"join/v of join/z after left/v right/x", "tell/v of tell/x after join/v clean/x"}
	if got := resumed(g.Resume(old, &again, in(runs), never, generation1)); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}

	put("left", "y", "left/y", job.Failed) // a cycle, which somebody wrote into the store by hand
	put("join", "y", "join/y", job.Skipped)
	g.Resume(runs["left/y"], &again, in(runs), never, generation1)
}

// TestWhatAResumeRepeats resumes a workflow from load, which failed.
func TestWhatAResumeRepeats(t *testing.T) {
	const alone, joined = "load: ; tell: load?done; check: tell", "load: ; stock: ; join: load stock"
	run := func(name, id, of string, s job.State, after ...job.Parent) *job.Run {
		return &job.Run{Job: name, ID: id, State: s, RetryOf: of, After: after}
	}
	load, stock := job.Parent{Job: "load"}, job.Parent{Job: "stock", ID: "w"}
	for name, c := range map[string]struct {
		jobs, from string
		runs       []*job.Run
		want       []string
	}{
		"a step that failed too": {
			alone, "load/x", []*job.Run{run("tell", "x", "", job.Failed, load), run("check", "x", "", job.Skipped)},
			[]string{"tell/y of tell/x after load/y", "check/y of check/x after tell/y"},
		},
		"no failure behind a step that succeeded": {
			alone, "load/x", []*job.Run{run("tell", "x", "", job.Succeeded, load), run("check", "x", "", job.Failed)}, nil,
		},
		"a step that follows a run that the history has lost": {
			joined, "load/x", []*job.Run{run("join", "x", "", job.Skipped, load, stock)}, []string{"join/y of join/x after load/y stock/w"},
		},
		"a step whose first run the history has lost": {
			joined, "load/v", []*job.Run{run("load", "v", "load/x", job.Failed), run("join", "v", "join/x", job.Skipped, load, stock)},
			[]string{"join/y of join/v after load/y stock/w"},
		},
		"a step whose record says how the run that the history has lost ended": {
			joined, "load/x", []*job.Run{run("join", "x", "", job.Skipped, load, job.Parent{Job: "stock", State: job.Succeeded})},
			[]string{"join/y of join/x after load/y stock/x (succeeded)"},
		},
		"a step whose record does not say whether that run was skipped with its slot": {
			joined, "load/x", []*job.Run{{Job: "join", ID: "x", State: job.Skipped, SlotSkipped: true, After: []job.Parent{
				load, {Job: "stock", State: job.Skipped},
			}}},
			[]string{"join/y of join/x after load/y stock/x"},
		},
	} {
		runs := map[string]*job.Run{"load/x": run("load", "x", "", job.Failed)}
		for _, r := range c.runs {
			runs[r.Name()] = r
		}
		again := job.Run{Job: "load", ID: "y", Kind: job.KindRetry, RetryOf: c.from}
		if got := resumed(workflow.Of(specs(c.jobs)).Resume(runs[c.from], &again, in(runs), never, generation1)); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// TestARepetitionInASlotIsResumed resumes a workflow from a repetition that failed, before the leader has decided a step beside it. A
// step that waits for both keeps the run that it gets in the slot, or follows the run that the other one gets.
func TestARepetitionInASlotIsResumed(t *testing.T) {
	g := workflow.Of(specs("load: ; stock: ; bill: load; count: load stock; match: bill count; clean: bill?done count; last: bill stock"))
	slot := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	id := job.SlotID(slot)
	bill, stock := job.Parent{Job: "bill", State: job.Failed}, job.Parent{Job: "stock"}
	old := &job.Run{Job: "bill", ID: "y", Kind: job.KindRetry, Slot: slot, State: job.Failed, RetryOf: "bill/" + id}
	runs := map[string]*job.Run{
		"bill/y":     old,
		"load/" + id: {Job: "load", ID: id, Slot: slot, State: job.Succeeded},
		"bill/" + id: {Job: "bill", ID: id, Slot: slot, State: job.Failed},
		"last/" + id: {Job: "last", ID: id, Slot: slot, State: job.Skipped, After: []job.Parent{bill, stock}},
	}
	open := func(name string) bool { return name != "last" }
	got := resumed(g.Resume(old, &job.Run{Job: "bill", ID: "z", RetryOf: "bill/y"}, in(runs), open, generation1))
	want := []string{"last/z of last/" + id + " after bill/z stock/" + id, "match/z of  after bill/z count/" + id}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestUnfit checks from which runs a workflow can be resumed. A step that was skipped for a reason of its own is what the steps behind
// it lack.
func TestUnfit(t *testing.T) {
	after := func(s job.State) []job.Parent { return []job.Parent{{Job: "load", State: s}} }
	for name, c := range map[string]struct {
		old  job.Run
		want string
	}{
		"failed":                    {job.Run{State: job.Failed}, ""},
		"canceled":                  {job.Run{State: job.Canceled}, ""},
		"not approved":              {job.Run{State: job.Skipped, After: after(job.Succeeded)}, ""},
		"a slot that was skipped":   {job.Run{State: job.Skipped}, ""},
		"succeeded":                 {job.Run{State: job.Succeeded}, "it succeeded"},
		"a copy":                    {job.Run{State: job.Failed, On: "q1"}, "it is for one worker"},
		"its parent failed":         {job.Run{State: job.Skipped, Reason: "parent load failed", After: after(job.Failed)}, "parent load failed"},
		"its parent has no run":     {job.Run{State: job.Skipped, After: after("")}, "it was skipped"},
		"its root skipped the slot": {job.Run{State: job.Skipped, SlotSkipped: true, After: after(job.Succeeded)}, "it was skipped"},
	} {
		if got := workflow.Unfit(&c.old); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// TestFollow repeats runs alone.
func TestFollow(t *testing.T) {
	after := []job.Parent{{Job: "load", When: job.WhenDone, State: job.Failed}, {Job: "stock", ID: "w"}}
	want := []job.Parent{{Job: "load", ID: "x", When: job.WhenDone, State: job.Failed}, {Job: "stock", ID: "w"}}
	if got := workflow.Follow(&job.Run{ID: "x", After: after}); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := workflow.Follow(&job.Run{ID: "x", After: after, SlotSkipped: true}); got != nil {
		t.Errorf("a repetition of a skipped slot follows %+v", got)
	}
	for want, r := range map[bool]job.Run{true: {After: after, Due: job.WhenParentsEnd}, false: {After: after}} {
		if got := workflow.Waited(&r); got != want {
			t.Errorf("due %v: waited is %v", r.Due, got)
		}
	}
	if workflow.Waited(&job.Run{Due: job.WhenParentsEnd}) {
		t.Error("a run without parents waited for them")
	}
}

func never(string) bool { return false }

// TestAStepThatWillRunIsNotResumed resumes a workflow before the leader has decided the steps behind the failed run, as during a
// change of leader. A step runs again only if an end rules it out.
func TestAStepThatWillRunIsNotResumed(t *testing.T) {
	g := workflow.Of(specs("load: ; other: ; tell: load?done; join: load other; clean: join?done; both: tell join; end: tell other; late: join?done other"))
	for kind, records := range map[string]bool{"of a slot": false, "started by a person": true} {
		t.Run(kind, func(t *testing.T) {
			runs := map[string]*job.Run{}
			put := func(name string, s job.State) {
				r := &job.Run{Job: name, ID: "x", State: s}
				if s == job.Pending {
					r.Due = job.WhenParentsEnd
					for _, a := range g.Parents(name) {
						r.After = append(r.After, job.Parent{Job: a.Job, When: a.When})
					}
				}
				runs[r.Name()] = r
			}
			put("load", job.Failed)
			put("other", job.Running)
			if records {
				for _, name := range g.Behind("load") {
					put(name, job.Pending)
				}
			}
			runs["load/v"] = &job.Run{Job: "load", ID: "v", State: job.Succeeded, RetryOf: "load/x"} // alone: no step follows it
			again := job.Run{Job: "load", ID: "y", Kind: job.KindRetry, RetryOf: "load/x"}
			open := func(string) bool { return !records }
			var got []string
			for _, r := range g.Resume(runs["load/x"], &again, in(runs), open, generation1) {
				got = append(got, r.Name())
			}
			if want := []string{"join/y", "both/y"}; !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func generation1(string) int64 { return 1 }

func in(runs map[string]*job.Run) workflow.Records {
	return workflow.Records{
		Run: func(name string) *job.Run { return runs[name] },
		Repeats: func(name string) (of []*job.Run) {
			for _, r := range runs {
				if r.RetryOf == name {
					of = append(of, r)
				}
			}
			return of
		},
	}
}

// TestTwoFailuresAreResumedOneAfterTheOther resumes a workflow from one of two runs that failed, and then from the other one. The
// step behind both follows the repetition of the first.
func TestTwoFailuresAreResumedOneAfterTheOther(t *testing.T) {
	g := workflow.Of(specs("left: ; right: ; join: left right; clean: right?done"))
	for name, c := range map[string]struct {
		left, join job.State // of the first resumption
		lost       string    // a run that the history has lost
		want       []string
	}{
		"after its end":  {left: job.Succeeded, join: job.Skipped, want: []string{"join/z of join/y after left/y right/z"}},
		"before it":      {left: job.Running, join: job.Pending, want: []string{"join/z of join/y after left/y right/z"}},
		"without steps":  {left: job.Succeeded, want: []string{"join/z of join/x after left/y right/z"}},
		"in vain":        {left: job.Failed, join: job.Skipped, want: []string{"join/z of join/y after left/y right/z"}},
		"join is done":   {left: job.Succeeded, join: job.Succeeded},
		"without left/x": {left: job.Succeeded, join: job.Skipped, lost: "left/x", want: []string{"join/z of join/y after left/y right/z"}},
		"without join/x": {left: job.Succeeded, join: job.Succeeded, lost: "join/x"},
	} {
		t.Run(name, func(t *testing.T) {
			runs := map[string]*job.Run{}
			put := func(name, id, of string, s job.State, after ...job.Parent) {
				r := &job.Run{Job: name, ID: id, State: s, RetryOf: of, After: after, Created: time.Unix(int64(len(runs)), 0)}
				r.Params, r.Defaulted = map[string]string{"of": r.Name()}, []string{r.Name()}
				if s == job.Pending {
					r.Due = job.WhenParentsEnd
				}
				runs[r.Name()] = r
			}
			put("left", "x", "", job.Failed)
			put("right", "x", "", job.Failed)
			put("join", "x", "", job.Skipped, job.Parent{Job: "left"}, job.Parent{Job: "right"})
			put("clean", "x", "", job.Failed, job.Parent{Job: "right"})
			put("clean", "v", "clean/x", job.Succeeded, job.Parent{Job: "right", ID: "x"}) // repeated alone
			put("right", "w", "right/x", job.Failed)
			put("clean", "w", "clean/x", job.Failed, job.Parent{Job: "right"})
			put("left", "y", "left/x", c.left)
			if c.join != "" {
				put("join", "y", "join/x", c.join, job.Parent{Job: "left"}, job.Parent{Job: "right", ID: "x"})
			}
			delete(runs, c.lost)
			for _, from := range []string{"right/x", "right/w"} {
				again := job.Run{Job: "right", ID: "z", Kind: job.KindRetry, RetryOf: from, Params: map[string]string{"of": "right"}}
				steps := g.Resume(runs[from], &again, in(runs), never, generation1)
				if got := resumed(steps); !slices.Equal(got, c.want) {
					t.Errorf("from %s: got %q, want %q", from, got, c.want)
				}
				for _, s := range steps {
					if s.Generation != 1 || s.Params["of"] != s.RetryOf || len(s.Defaulted) != 1 {
						t.Errorf("from %s: got generation %d and parameters %v", from, s.Generation, s.Params)
					}
				}
			}
		})
	}
}

// resumed describes the records of steps.
func resumed(steps []job.Run) (list []string) {
	for _, r := range steps {
		var after []string
		for _, p := range r.After {
			text := p.Job + "/" + p.RunID(&r)
			if p.State != "" {
				text += " (" + string(p.State) + ")"
			}
			after = append(after, text)
		}
		list = append(list, fmt.Sprintf("%s of %s after %s", r.Name(), r.RetryOf, strings.Join(after, " ")))
	}
	return list
}
