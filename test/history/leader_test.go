package history

import (
	"slices"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestStepsOfALeader writes one step of a run after the end of the term that it names. A worker or a client may do that at any
// time. The deposed leader may not.
func TestStepsOfALeader(t *testing.T) {
	lost := job.Outcome{State: job.Lost, At: sec(2), Reason: "worker q1 was lost"}
	stop := func(by string) func(r job.Run) (job.Run, error) {
		return func(r job.Run) (job.Run, error) {
			return r.Stop(job.Cancel{At: sec(2), By: by, Reason: "the job was deleted"})
		}
	}
	recall := func(why string) func(r job.Run) (job.Run, error) {
		return func(r job.Run) (job.Run, error) { return r.Recall(why) }
	}
	for _, c := range []struct {
		name string
		from job.State
		step func(r job.Run) (job.Run, error)
		late bool // whether only a leader makes this step
	}{
		{"a worker claims", job.Armed, func(r job.Run) (job.Run, error) { return r.Claim(r.Rev, sec(2)) }, false},
		{"a worker hands it back", job.Armed, recall("worker is stopping"), false},
		{"a worker does not know whether it has claimed it", job.Armed, func(r job.Run) (job.Run, error) {
			r, err := r.Claim(r.Rev, sec(2))
			if err != nil {
				return r, err
			}
			return r.Requeue(job.Outcome{State: job.Lost, At: sec(2), Reason: "worker lost its lease " + job.NotBegun}, sec(2), "tried again")
		}, false},
		{"it is taken from its worker", job.Armed, recall("worker q1 was lost"), true},
		{"it is withdrawn, because it may not start yet", job.Armed, recall(job.ReasonNotYet), true},
		{"it is given to another worker", job.Armed, func(r job.Run) (job.Run, error) { return r.Assign(&job.Worker{Name: "q2"}) }, true},
		{"its attempt succeeded", job.Running, func(r job.Run) (job.Run, error) { return r.Finish(job.Outcome{State: job.Succeeded}) }, false},
		{"its attempt failed", job.Running, func(r job.Run) (job.Run, error) {
			return r.Requeue(job.Outcome{State: job.Failed}, sec(3), "retry 1 of 1")
		}, false},
		{"its worker gave it up", job.Running, func(r job.Run) (job.Run, error) { return r.Requeue(lost, sec(2), "tried again") }, false},
		{"its worker is lost", job.Running, func(r job.Run) (job.Run, error) {
			r, err := r.Requeue(lost, sec(2), "tried again")
			return r.GiveUp(), err
		}, true},
		{"its worker is lost, for good", job.Running, func(r job.Run) (job.Run, error) { r, err := r.Finish(lost); return r.GiveUp(), err }, true},
		{"its end is requested again", job.Running, func(r job.Run) (job.Run, error) { r.Reason = "it continues"; return r, nil }, true},
		{"a client cancels it", job.Running, stop("alice"), false},
		{"rota cancels it", job.Running, stop("rota"), true},
		{"a client cancels what waits", job.Pending, stop("alice"), false},
		{"it waits for another reason", job.Pending, func(r job.Run) (job.Run, error) { r.Reason = "no worker has room"; return r, nil }, true},
		{"it is skipped", job.Pending, func(r job.Run) (job.Run, error) { r.State, r.Reason = job.Skipped, "paused"; return r, nil }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newTape(t)
			p.lead("a")
			p.commit(map[string]any{"election/b": map[string]string{}})
			p.define("charge", job.Spec{Every: job.Duration(time.Second)})
			p.now = sec(1)
			r := p.arm("charge", p.now, "q1")
			switch c.from {
			case job.Running:
				r = p.execute(r, false)
			case job.Pending:
				r = p.save(r.Recall("worker q1 was lost"))
			}
			p.commit(map[string]any{"election/a": nil})
			p.save(c.step(r))
			late := slices.ContainsFunc(Check(p.history), func(v Violation) bool { return v.Rule == RuleTerm })
			if late != c.late {
				t.Errorf("got a violation of %s: %t, want %t:\n%s", RuleTerm, late, c.late, lines(Check(p.history)))
			}
		})
	}
}
