package history

import (
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestASlotDecidedByAClockThatIsAhead pauses a job for slots 3 to 7. A leader whose clock is ahead has decided slot 5 before. So it
// may run, and early; the others may not run.
func TestASlotDecidedByAClockThatIsAhead(t *testing.T) {
	for _, ahead := range []time.Duration{0, 4 * time.Second} {
		p := newTape(t)
		p.lead("a")
		p.define("charge", job.Spec{Every: job.Duration(time.Second), Overlap: job.OverlapAllow})
		p.now = began.Add(1500 * time.Millisecond)
		slot := began.Add(5 * time.Second)
		r := job.Run{
			Job: "charge", ID: job.SlotID(slot), Kind: job.KindScheduled, Slot: slot, Due: slot, State: job.Pending, Term: p.term,
			Created: p.now.Add(ahead),
		}
		p.save(r, nil)
		pause := &job.Pause{At: began.Add(2500 * time.Millisecond)}
		p.commit(map[string]any{"gate": job.Gate{Paused: pause}})
		p.commit(map[string]any{"gate": job.Gate{Since: began.Add(7500 * time.Millisecond)}})
		p.history.Over, p.history.Slack = began.Add(10*time.Second), 100*time.Millisecond

		list, err := newTimeline(p.history).targets(p.history.Jobs[0], nil)
		if err != nil {
			t.Fatal(err)
		}
		paused := 0
		for _, g := range list {
			if g.slot.After(pause.At) && g.slot.Before(began.Add(7*time.Second)) {
				paused++
				if !g.slot.Equal(slot) || !g.Optional || g.From.After(slot.Add(-ahead)) {
					t.Errorf("clock ahead by %v: got the target %+v", ahead, g)
				}
			}
		}
		if want := min(1, int(ahead)); paused != want {
			t.Errorf("clock ahead by %v: got %d targets in the pause, want %d", ahead, paused, want)
		}
	}
}
