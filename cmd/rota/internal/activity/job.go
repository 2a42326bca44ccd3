package activity

import (
	"sync/atomic"
	"time"

	"github.com/rota-scheduler/rota/scheduler/delayed"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// Job is the state of one job.
type Job struct {
	Job *job.Job
	*Runs

	first *int64 // of its entry
}

// Runs is the state of the runs of one job.
type Runs struct {
	Last   *job.Run  // the run that ended last; nil if none is known
	Failed int       // runs in a row that ended and did not succeed; skipped and canceled runs do not count
	Since  time.Time // end of the first of them
	Active int       // runs that have not ended
	Busy   int       // those of them that are running

	cursor  *job.Cursor         // nil: the leader has decided no slot of the job
	pending map[string]*job.Run // runs that have not begun, without those in delayed; nil: none
	delayed *delayed.Runs       // runs that wait for their time; nil: none
}

// noRuns is shared by all jobs without runs.
var noRuns = new(Runs)

// entry is a job in the list of all jobs. Readers keep the first slot in it, because a million jobs may have no cursor.
type entry struct {
	def   *job.Job
	first int64 // the first slot after def.Since, see job.Instant; 0: not known yet, noSlot: there is none
}

const noSlot = -1 << 63

// When returns the schedule of the job. It is nil if the job has no slots of its own, or if they cannot be read.
func (j *Job) When() *schedule.Schedule {
	when, _ := policy.StoredWhen(j.Job.Name, j.Job.Spec) // the quarantine of the cluster reports mistakes
	return when
}

// Next returns the next slot that the leader decides; zero if there is none.
func (j *Job) Next() time.Time {
	if j.cursor != nil {
		return j.cursor.Next
	}
	first := atomic.LoadInt64(j.first)
	if first == 0 {
		first = noSlot
		if when := j.When(); when != nil {
			if slot, ok := when.Next(j.Job.Since); ok {
				first = job.Instant(slot)
			}
		}
		atomic.StoreInt64(j.first, first)
	}
	if first == noSlot {
		return time.Time{}
	}
	return time.Unix(0, first).UTC()
}

// Waits reports whether a run of the job is due at now and has not begun.
func (r *Runs) Waits(now time.Time) bool {
	for _, r := range r.pending {
		if !r.WaitsSince().After(now) {
			return true
		}
	}
	due, ok := r.delayed.First()
	return ok && due <= job.Instant(now)
}
