package explain_test

import (
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
