package history

import (
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestACursorGoesBackOnlyForANewJob deletes a cursor that a leader with a wrong clock has moved far. The next cursor may be behind
// it only if the job was deleted too, and created again.
func TestACursorGoesBackOnlyForANewJob(t *testing.T) {
	for name, c := range map[string]struct {
		gone      map[string]any
		recreated bool
	}{
		"the job is created again": {map[string]any{"jobs/charge": nil, "cursors/charge": nil}, true},
		"only the cursor is gone":  {map[string]any{"cursors/charge": nil}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newTape(t)
			p.lead("a")
			spec := job.Spec{Every: job.Duration(time.Second)}.WithDefaults()
			definition := map[string]any{"jobs/charge": job.Job{Name: "charge", Generation: 1, Since: p.now, Spec: &spec}}
			p.commit(definition)
			p.commit(map[string]any{"cursors/charge": job.Cursor{Job: "charge", After: began.Add(time.Minute), Term: p.term}})
			p.commit(c.gone)
			if c.recreated {
				p.commit(definition)
			}
			back := p.commit(map[string]any{"cursors/charge": job.Cursor{Job: "charge", After: began.Add(time.Second), Term: p.term}})

			tl := newTimeline(p.history)
			if vs := tl.cursors["charge"]; len(vs) != 2 || vs[1].Rev != back {
				t.Fatalf("got %d versions of the cursor", len(vs))
			} else if got := tl.startsAgain("charge", vs[0].Version, vs[1].Version); got != c.recreated {
				t.Errorf("may go back: got %v, want %v", got, c.recreated)
			}
		})
	}
}
