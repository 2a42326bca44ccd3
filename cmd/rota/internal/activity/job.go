package activity

import (
	"time"

	"github.com/rota-scheduler/rota/scheduler/delayed"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// Job is the state of one job.
type Job struct {
	Job  *job.Job
	When *schedule.Schedule // of the definition; nil: it has no slots of its own, or they cannot be read
	Next time.Time          // next slot that the leader decides; zero if there is none

	decided bool // the leader has decided a slot of it, so that a cursor has Next

	*Runs // noRuns until the job has one: a million jobs may have no runs
}

// Runs is the state of the runs of one job.
type Runs struct {
	Last   *job.Run  // the run that ended last; nil if none is known
	Failed int       // runs in a row that ended and did not succeed; skipped and canceled runs do not count
	Since  time.Time // end of the first of them
	Active int       // runs that have not ended
	Busy   int       // those of them that are running

	pending map[string]*job.Run // runs that have not begun, without those in delayed; nil: none
	delayed *delayed.Runs       // runs that wait for their time; nil: none
}

// noRuns is shared by all jobs without runs.
var noRuns = new(Runs)

// Waits reports whether a run of the job is due at now and has not begun.
func (j *Job) Waits(now time.Time) bool {
	for _, r := range j.pending {
		if !r.WaitsSince().After(now) {
			return true
		}
	}
	due, ok := j.delayed.First()
	return ok && due <= job.Instant(now)
}

// first sets the next slot of a job of which the leader has decided none.
func (j *Job) first() {
	if j.decided {
		return
	}
	j.Next = time.Time{}
	if j.Job != nil && j.When != nil {
		j.Next, _ = j.When.Next(j.Job.Since)
	}
}
