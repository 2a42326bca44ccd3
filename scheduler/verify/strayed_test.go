package verify_test

import (
	"testing"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/verify"
)

// TestAMovedCursorIsReportedOnce checks that a cursor which somebody moved by hand is reported, but not the leader that goes on from
// where the cursor was.
func TestAMovedCursorIsReportedOnce(t *testing.T) {
	for name, test := range map[string]struct {
		moves func(h *history)
		want  int
	}{
		"ahead, and written back":      {func(h *history) { h.write(h.move(23)); h.write(h.move(20)); h.fire(21) }, 2},
		"ahead, and decided meanwhile": {func(h *history) { h.write(h.move(23)); h.fire(21) }, 2},
		"ahead, and continued there":   {func(h *history) { h.write(h.move(23)); h.fire(24) }, 3},
		"ahead, and further back":      {func(h *history) { h.write(h.move(23)); h.write(h.move(19)) }, 4},
		"back, and continued":          {func(h *history) { h.write(h.move(1)); h.fire(21) }, 1},
		"back, and continued there":    {func(h *history) { h.write(h.move(18)); h.write(h.move(19)) }, 1},
		"back twice":                   {func(h *history) { h.write(h.move(18)); h.fire(21); h.write(h.move(18)); h.fire(22) }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			h := usual()
			in := verify.Input{Now: minute(1000), Records: []job.Change{h.records["jobs/tick"]}}
			for n := 16; n <= 20; n++ { // history has removed the runs before, and the log begins after that
				in.Records = append(in.Records, h.records["runs/"+h.slotName(n)])
			}
			h.log = [][]job.Change{{h.records["cursors/tick"]}}
			test.moves(h)
			in.Log = h.log
			got := verify.Check(in).Violations
			if len(got) != test.want {
				t.Errorf("got %v, want %d violations", got, test.want)
			}
		})
	}
}
