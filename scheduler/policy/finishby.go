package policy

import (
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// FinishBy returns when the run of a slot must have ended; false if the job does not say.
func FinishBy(s *job.Spec, slot time.Time) (at time.Time, ok bool) {
	if s.FinishBy == "" {
		return at, false
	}
	f, err := schedule.ParseFinishBy(s.FinishBy, s.Timezone)
	if err != nil { // only a record that was written by hand
		return at, false
	}
	return f.Of(slot), true
}

// Overdue is the reason of a run that goes on after its timeout. It keeps the words of version 0.1.0.
const Overdue = "it goes on after its timeout: its worker was asked to end it"
