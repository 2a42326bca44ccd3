package history

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestTheStoreLies removes the effect of a slot's run, and lets its record state each possible end. The judge must not believe
// the record, except for actions of clients and ends that the test allows.
func TestTheStoreLies(t *testing.T) {
	const at = 3
	run := "charge/" + slotAt(at)
	none := func(*job.Run) {}
	as := func(s job.State) func(r *job.Run) {
		return func(r *job.Run) { r.State, r.Attempts[len(r.Attempts)-1].State = s, s }
	}
	for _, lie := range []struct {
		name     string
		tell     func(r *job.Run)
		believed bool // believed where runs may end so and the effects alone do not decide
		always   bool // believed, because nothing contradicts it
	}{
		{"succeeded", none, false, false},
		{"failed", as(job.Failed), true, false},
		{"timed out", as(job.TimedOut), true, false},
		{"lost", as(job.Lost), false, false},
		{"canceled without a request", as(job.Canceled), false, false},
		{"canceled by rota", func(r *job.Run) {
			as(job.Canceled)(r)
			r.Cancel = &job.Cancel{At: sec(at), By: "rota", Reason: "overlap: replaced by slot " + slotAt(at)}
		}, false, false},
		{"canceled by alice", func(r *job.Run) {
			as(job.Canceled)(r)
			r.Cancel = &job.Cancel{At: sec(at), By: "alice"}
		}, true, true},
		{"skipped", func(r *job.Run) { r.State, r.Reason, r.Attempts = job.Skipped, "paused", nil }, false, false},
		{"skipped for another", func(r *job.Run) {
			r.State, r.Reason, r.Attempts = job.Skipped, "overlap: run "+slotAt(at-1)+" is still active", nil
		}, false, false},
	} {
		for _, kind := range []struct {
			name string
			set  func(h *History, j *Job)
			fail bool // its runs may fail
		}{
			{"a job", func(*History, *Job) {}, false},
			{"a job that may fail", func(_ *History, j *Job) { j.MayFail = true }, true},
			{"a job that was edited", func(_ *History, j *Job) { j.MayFail, j.Edited = true, true }, true},
			{"a job with a tolerance", func(h *History, j *Job) {
				j.MayFail, j.Tolerance, j.From = true, 300*time.Millisecond, began
				h.Recovery, h.Over = 1500*time.Millisecond, sec(11)
			}, false},
		} {
			t.Run(lie.name+", "+kind.name, func(t *testing.T) {
				h := good(t)
				kind.set(&h, &h.Jobs[0])
				h.Effects = slices.DeleteFunc(h.Effects, func(e Effect) bool { return e.Run == run })
				edit(t, &h, "runs/"+run, 2, lie.tell)
				found := slices.ContainsFunc(Check(h), func(v Violation) bool { return strings.HasPrefix(v.What, run) })
				believed := lie.believed && kind.fail || lie.always && kind.name == "a job with a tolerance"
				if found == believed {
					t.Errorf("found: %t, want %t:\n%s", found, !believed, lines(Check(h)))
				}
			})
		}
	}
}

// TestASlotIsSkippedForARunThatWasOver skips a slot for a run that, by its record, was still active. Its target saw the run end
// earlier. The judge must report this if the run ended long before.
func TestASlotIsSkippedForARunThatWasOver(t *testing.T) {
	for _, c := range []struct {
		name  string
		ended float64 // its target saw the end; the slot is at 9 s
		fault []Fault
		want  bool
	}{
		{"it lasted", 9.5, nil, false},
		{"its outcome took a moment", 8.9, nil, false},
		{"it had ended long before", 8.2, nil, true},
		{"its worker could not tell", 8.2, []Fault{{Kind: Outage, Node: "q2", At: sec(8), Until: sec(8.5)}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := good(t)
			h.Slack = 500 * time.Millisecond
			h.Faults = append(h.Faults, c.fault...)
			for i := range h.Faults {
				h.Faults[i].Delays = time.Second
			}
			h.Effects[effect(t, &h, "charge/"+slotAt(8))].Ended = sec(c.ended)
			h.Versions[version(t, &h, "runs/charge/"+slotAt(9), 0)].Seen = sec(9)
			got := slices.ContainsFunc(Check(h), func(v Violation) bool {
				return v.Rule == RuleOverlap && strings.Contains(v.Text, "had succeeded at its target")
			})
			if got != c.want {
				t.Errorf("found: %t, want %t:\n%s", got, c.want, lines(Check(h)))
			}
		})
	}
}
