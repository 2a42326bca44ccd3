package explain_test

import (
	"testing"
	"time"

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

// The run in the way is found by the clocks of the leaders, and by the time when the late run was due first.
func TestTheRunInTheWayIsFound(t *testing.T) {
	const want = "it waited behind run backup/a, which ended at 2026-11-21T02:30:20Z"
	for name, change := range map[string]func(*explain.Facts){
		"its worker's clock is behind": func(f *explain.Facts) {
			b := f.Before[0]
			b.Armed, b.Due, b.Finished = at("01:30:20"), b.Slot, at("02:29:40")
			b.Attempts = []job.Attempt{{Number: 1, Started: at("01:29:40"), Finished: b.Finished, State: job.Succeeded}}
		},
		"the late run was tried again": func(f *explain.Facts) { f.Run.Due, f.Run.Attempt = at("02:40:00"), 2 },
	} {
		f := with(backup(nil), late("02:30:20"))
		change(&f)
		if got := explain.Explain(f, at("02:30:00")); got.Late != want || got.Behind != "backup/a" {
			t.Errorf("%s: got %q, %q, want %q", name, got.Late, got.Behind, want)
		}
	}
}

// A retry has the slot of its run, and a delayed run has the time of its submission. Both may begin long after a later slot.
func TestARunThatBeganLaterWasNotInTheWay(t *testing.T) {
	for name, change := range map[string]func(b, late *job.Run){
		"a retry, which has ended": func(b, _ *job.Run) { b.Kind, b.RetryOf, b.Finished = job.KindRetry, "backup/x", at("03:10:00") },
		"a retry, which waits": func(b, _ *job.Run) {
			b.Kind, b.RetryOf, b.State, b.Finished = job.KindRetry, "backup/x", job.Pending, time.Time{}
		},
		"a delayed run, behind a long run": func(b, late *job.Run) {
			b.Kind, b.Finished = job.KindDelayed, at("03:10:00")
			late.Attempts = []job.Attempt{{Number: 1, Started: at("02:40:00"), Finished: at("04:00:00"), State: job.Succeeded}}
			late.Armed, late.Finished = at("02:40:00"), at("04:00:00")
		},
	} {
		f := with(backup(nil), late("02:29:59"))
		change(f.Before[0], f.Run)
		if got := explain.Explain(f, at("02:30:00")); got.Late != "no leader could dispatch it in time" || got.Behind != "" {
			t.Errorf("%s: got %q, %q", name, got.Late, got.Behind)
		}
	}
}
