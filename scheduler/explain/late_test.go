package explain_test

import (
	"testing"

	"github.com/rota-scheduler/rota/scheduler/explain"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// late is a run that was late. The run before it ended at a time.
func late(before string) func(*explain.Facts) {
	return func(f *explain.Facts) {
		slotRun(job.Succeeded, func(r *job.Run) { ended("")(r); r.Late = true })(f)
		f.Before = []*job.Run{{Job: "backup", ID: "a", Slot: at("01:30:00"), State: job.Succeeded, Finished: at(before)}}
	}
}

// The page shows the reason alone, and links to the run in the way.
func TestALateRunNamesTheRunInTheWay(t *testing.T) {
	for before, want := range map[string][2]string{
		"02:29:59": {"no leader could dispatch it in time", ""},
		"02:30:20": {"it waited behind run backup/a, which ended at 2026-11-21T02:30:20Z", "backup/a"},
	} {
		if got := explain.Explain(with(backup(nil), late(before)), at("02:30:00")); got.Late != want[0] || got.Behind != want[1] {
			t.Errorf("the run before ended at %s: got %q, %q, want %q", before, got.Late, got.Behind, want)
		}
	}
	if got := explain.Explain(with(backup(nil), slotRun(job.Succeeded, ended(""))), at("02:30:00")); got.Late+got.Behind != "" {
		t.Errorf("a run in time: got %q, %q", got.Late, got.Behind)
	}
}
