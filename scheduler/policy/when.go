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

func deref(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}
