package history

import (
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestARunThatBeginsAgainHadNotEnded skips a slot because of a run between two attempts. The clock of the second worker is
// behind, so the record says that the run ended before the slot.
func TestARunThatBeginsAgainHadNotEnded(t *testing.T) {
	for _, c := range []struct {
		name   string
		before bool // the second attempt began before the skip
		skew   time.Duration
		want   int
	}{
		{"it began again after the skip", false, 0, 0},
		{"it had begun again before the skip", true, 0, 1},
		{"its worker's clock may be behind by less than that", true, 100 * time.Millisecond, 1},
		{"its worker's clock may be behind by as much", true, 150 * time.Millisecond, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newTape(t)
			p.lead("a")
			p.define("charge", job.Spec{Every: job.Duration(time.Second), Retry: &job.Retry{Max: 1}})
			p.now = began.Add(time.Second)
			first := p.execute(p.arm("charge", p.now, "q1"), true)
			p.history.Effects[0].Well = false
			slot := began.Add(2 * time.Second)
			p.now = slot.Add(-50 * time.Millisecond)
			r, err := first.Requeue(job.Outcome{State: job.Failed, At: p.now}, p.now, "retry 1 of 1")
			r = p.save(r, err)
			skip := func() {
				p.now = slot
				skipped := job.Run{
					Job: "charge", ID: job.SlotID(slot), Kind: job.KindScheduled, State: job.Skipped, Term: p.term, Slot: slot, Due: slot,
					Reason: "overlap: run " + first.ID + " is still active",
				}
				p.commit(map[string]any{"runs/" + skipped.Name(): skipped, "cursors/charge": job.Cursor{Job: "charge", After: slot, Term: p.term}})
			}
			if !c.before {
				skip()
			}
			r = p.execute(p.save(r.Assign(&job.Worker{Name: "q2", Session: "t"})), true)
			if c.before {
				skip()
			}
			p.save(r.Finish(job.Outcome{State: job.Succeeded, At: slot.Add(-150 * time.Millisecond)}))
			p.history.Skew = c.skew
			found := Check(p.history)
			if len(found) != c.want || c.want > 0 && found[0].Rule != RuleOverlap {
				t.Errorf("got:\n%swant %d violations of %s", lines(found), c.want, RuleOverlap)
			}
		})
	}
}
