package history

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// workflowOf returns the history of one slot of a workflow: extract, then left and right, then join; alarm follows a failure of left.
// states has the final states; order has the runs in the order of their creations, each of which ends before the next.
func workflowOf(t *testing.T, states map[string]job.State, order ...string) History {
	t.Helper()
	slot := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	parents := map[string][]job.After{
		"left": {{Job: "extract"}}, "right": {{Job: "extract"}}, "join": {{Job: "left"}, {Job: "right"}},
		"alarm": {{Job: "left", When: job.WhenFailure}},
	}
	h := History{Prefix: "/rota", Over: slot.Add(time.Hour)}
	rev := int64(10)
	write := func(key string, create int64, record any) {
		text, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		h.Versions = append(h.Versions, Version{Key: "/rota/" + key, Rev: rev, Create: create, Value: text})
		rev++
	}
	for _, name := range []string{"extract", "left", "right", "join", "alarm"} {
		spec := job.Spec{Command: []string{"true"}, After: parents[name]}.WithDefaults()
		h.Jobs = append(h.Jobs, Job{Name: name, Spec: spec, MayFail: true})
		write("jobs/"+name, rev, job.Job{Name: name, Generation: 1, Since: slot.Add(-time.Hour), Created: slot.Add(-time.Hour), Spec: &spec})
	}
	for _, name := range order {
		r := job.Run{Job: name, ID: job.SlotID(slot), Kind: job.KindScheduled, Slot: slot, Due: slot, State: job.Pending, Created: slot}
		created := rev
		if states[name] == job.Skipped {
			r.State, r.Reason, r.Finished = job.Skipped, "parent left failed", slot
			write("runs/"+r.Name(), created, r)
			continue
		}
		write("runs/"+r.Name(), created, r)
		r.State, r.Finished = states[name], slot.Add(time.Second)
		write("runs/"+r.Name(), created, r)
	}
	return h
}

// TestStepRule gives the judge one slot of a workflow, as it should be and with one thing changed.
func TestStepRule(t *testing.T) {
	const ok, bad, skip = job.Succeeded, job.Failed, job.Skipped
	for _, c := range []struct {
		name                              string
		extract, left, right, join, alarm job.State
		order                             []string
		want                              []string // jobs with a violation of the rule
	}{
		{"all succeed", ok, ok, ok, ok, skip, []string{"extract", "left", "right", "join", "alarm"}, nil},
		{"a failure", ok, bad, ok, skip, ok, []string{"extract", "left", "right", "alarm", "join"}, nil},
		{"a step before its parent", ok, ok, ok, ok, skip, []string{"extract", "left", "join", "right", "alarm"}, []string{"join"}},
		{"a step without a run", ok, ok, ok, ok, skip, []string{"extract", "left", "right", "alarm"}, []string{"join"}},
		{"a step after a failure", ok, bad, ok, ok, ok, []string{"extract", "left", "right", "join", "alarm"}, []string{"join"}},
		{"a failure that nobody handles", ok, bad, ok, skip, skip, []string{"extract", "left", "right", "alarm", "join"}, []string{"alarm"}},
		{"a handler without a failure", ok, ok, ok, ok, ok, []string{"extract", "left", "right", "join", "alarm"}, []string{"alarm"}},
		{"a skip without a failure", ok, ok, ok, skip, skip, []string{"extract", "left", "right", "join", "alarm"}, []string{"join"}},
		{"no parent at all", ok, ok, ok, ok, skip, []string{"left", "right", "join", "alarm"}, []string{"left", "right"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			states := map[string]job.State{"extract": c.extract, "left": c.left, "right": c.right, "join": c.join, "alarm": c.alarm}
			var got []string
			for _, v := range Check(workflowOf(t, states, c.order...)) {
				if v.Rule == RuleStep {
					name, _, _ := job.ParseRunName(v.What)
					got = append(got, name)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("the judge finds fault with %q, want %q", got, c.want)
			}
		})
	}
}

// The slots of a step may end in another order than they began. Its cursor then records the later ones beyond the earlier one.
func TestACursorOfAStepMayOvertake(t *testing.T) {
	first, second := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), time.Date(2026, 3, 1, 12, 1, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		before, after []time.Time // slots that the cursor records beyond its position, when the second slot is decided and then the first
		upTo          time.Time   // its position in the end
		want          int         // violations
	}{
		"it overtakes and catches up":        {[]time.Time{second}, nil, second, 0},
		"it does not record the second slot": {nil, nil, second, 1},
		"it never passes the first slot":     {[]time.Time{second}, []time.Time{second}, first.Add(-time.Hour), 1},
	} {
		t.Run(name, func(t *testing.T) {
			h := History{Prefix: "/rota", Over: second.Add(time.Hour)}
			rev := int64(10)
			write := func(slot time.Time, cursor job.Cursor) {
				r := job.Run{Job: "join", ID: job.SlotID(slot), Kind: job.KindScheduled, Slot: slot, State: job.Pending, After: []job.Parent{{Job: "left"}}}
				for key, record := range map[string]any{"runs/" + r.Name(): r, "cursors/join": cursor} {
					text, err := json.Marshal(record)
					if err != nil {
						t.Fatal(err)
					}
					create := rev
					if key == "cursors/join" {
						create = 10
					}
					h.Versions = append(h.Versions, Version{Key: "/rota/" + key, Rev: rev, Create: create, Value: text})
				}
				rev++
			}
			write(second, job.Cursor{Job: "join", After: first.Add(-time.Hour), Beyond: c.before})
			write(first, job.Cursor{Job: "join", After: c.upTo, Beyond: c.after})
			n := 0
			for _, v := range Check(h) {
				if v.Rule == RuleCursor && v.What != "cursor join" && v.What != "join" {
					n++
				}
			}
			if n != c.want {
				t.Errorf("got %d violations, want %d", n, c.want)
			}
		})
	}
}
