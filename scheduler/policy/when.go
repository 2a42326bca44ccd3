package policy

import (
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// When parses what a spec says about time. It returns nil for a job without a schedule of its own, and the errors of
// schedule.Parse.
func When(name string, s *job.Spec) (*schedule.Schedule, error) {
	if !s.Scheduled() {
		return nil, nil
	}
	spec := schedule.Spec{
		Cron: s.Schedule, Every: s.Every.Std(), At: s.At, Timezone: s.Timezone,
		Start: deref(s.Start), End: deref(s.End), Exclude: s.Exclude, Seed: name, Jitter: s.Jitter.Std(),
	}
	if s.DST != nil {
		spec.Gap, spec.Fold = schedule.Gap(s.DST.Gap), schedule.Fold(s.DST.Fold)
	}
	return schedule.Parse(spec)
}

// OwedAfter is after which slot those of the job's present schedule, which is when, are owed; zero if the record does not tell.
// One that took the place of another begins with the first slot whose time had not come then, offset as it was: an edit between
// a slot and its time costs a run only if the slot goes, and one of the jitter alone neither takes a slot nor brings one back.
// A new job has no slots from before it was made.
func OwedAfter(j *job.Job, when *schedule.Schedule) time.Time {
	at := j.Scheduled
	if at.IsZero() && j.SinceReason != job.SinceResumed {
		at = j.Since
	}
	if at.IsZero() || when == nil || j.SinceGeneration <= 1 {
		return at
	}
	offset := when.Offset()
	if j.Jittered != nil {
		offset = schedule.Offset(j.Name, j.Jittered.Std())
	}
	return job.Later(j.Created, at.Add(-offset))
}

func deref(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}
