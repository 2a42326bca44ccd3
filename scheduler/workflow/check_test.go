package workflow_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/workflow"
)

// TestCheck looks for cycles, unknown parents, and jobs without parents that have different slots.
func TestCheck(t *testing.T) {
	cycle := "long-0: long-99"
	for i := range 99 {
		cycle += fmt.Sprintf("; long-%d: long-%d", i+1, i)
	}
	for text, c := range map[string]struct {
		every string // jobs whose period differs
		want  []string
	}{
		"a: c; b: a; c: b; d: b; e: d nobody; self: d self": {want: []string{
			`a 0: after makes a cycle: a after c after b after a`, `e 1: parent "nobody" is not defined`,
			`self 1: after makes a cycle: self after self`,
		}},
		cycle: {want: []string{
			"long-0 0: after makes a cycle: long-0 after long-99 after long-98 after long-97 after long-96 after long-95 after " +
				"… 89 more … after long-5 after long-4 after long-3 after long-2 after long-1 after long-0",
		}},
		"l: ; r: ; a: l; b: r; c: a; join: c b; tail: join": {"r", []string{"join 1: jobs l and r start one workflow, but differ in every"}},
		"l: ; r: ; s: ; a: l; b: a s; c: b r; d: c":         {"r", []string{"c 1: jobs l and r start one workflow, but differ in every"}},
		"l: ; r: ; a: l; b: r":                              {"r", nil},
		"l: ; r: ; s: ; a: l r; b: r s":                     {"", nil},
	} {
		all := specs(text)
		for name, s := range all {
			if s.Every = job.Duration(time.Hour); strings.Contains(c.every, name) {
				s.Every *= 2
			}
			if len(s.After) > 0 {
				s.Every = 0
			}
		}
		var got []string
		for _, p := range workflow.Check(all) {
			got = append(got, fmt.Sprintf("%s %d: %s", p.Job, p.Parent, p.Text))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%.60s: got %q, want %q", text, got, c.want)
		}
	}
}

// TestInherit lets steps overlap only if all jobs without parents in their workflow do.
func TestInherit(t *testing.T) {
	all := specs("a: ; b: ; join: a b; tail: join; c: ; step: c; loop: loop")
	for _, name := range []string{"a", "c"} {
		all[name].Overlap = job.OverlapAllow
	}
	all["b"].Overlap = job.OverlapSkip
	allowed := func() (names []string) {
		for name, policy := range workflow.Of(all).Inherit(all) {
			if policy == job.OverlapAllow {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return names
	}
	if got, want := allowed(), []string{"c", "step"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	all["b"].Overlap = job.OverlapAllow
	if got, want := allowed(), []string{"a", "b", "c", "join", "step", "tail"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDepths(t *testing.T) {
	got := workflow.Of(specs("z: ; a: z; m: a z; b: z; tail: b m")).Depths()
	if want := map[string]int{"z": 0, "a": 1, "b": 1, "m": 2, "tail": 3}; !maps.Equal(filled(got, want), want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// filled returns got with a zero for each key that it lacks.
func filled(got, want map[string]int) map[string]int {
	for name := range want {
		got[name] += 0
	}
	return got
}

// TestRunsOfAStart starts a workflow in its middle. The steps get nothing of the client but the id.
func TestRunsOfAStart(t *testing.T) {
	g := workflow.Of(specs("load: ; other: ; left: load; join: left?done other load"))
	r := &job.Run{
		Job: "load", ID: "x", Kind: job.KindManual, State: job.Pending, Key: "k", Payload: []byte("1"), Params: map[string]string{"a": "b"},
		Defaulted: []string{"a"}, Generation: 7,
	}
	runs := g.Runs(r, func(name string) int64 { return int64(len(name)) })
	if len(runs) != 2 || runs[0].Job != "left" || runs[1].Job != "join" {
		t.Fatalf("got %+v, want runs of left and join", runs)
	}
	for _, s := range runs {
		if s.ID != "x" || !s.AwaitsParents() || s.Key != "" || s.Payload != nil || s.Params != nil || s.Defaulted != nil || s.Generation != 4 {
			t.Errorf("got %+v", s)
		}
	}
	if got, want := runs[1].After, []job.Parent{{Job: "left", When: job.WhenDone}, {Job: "load"}}; !slices.Equal(got, want) {
		t.Errorf("join follows %+v, want %+v", got, want)
	}
}
