package scheduler

import (
	"errors"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/planner"
)

// Status is how the loop is doing, for health checks and display.
type Status struct {
	Term    int64     // zero: not leading
	Since   time.Time // of the term, or of the loop
	Pending int       // decisions under way
	Asked   time.Time // when the oldest of those was handed to the store; zero: none is
	Due     time.Time // when the next thing has to be decided, or had to be; zero: nothing has

	Refused     time.Time // since when the store refuses decisions and takes none; zero: it takes them
	RefusedLast time.Time // when it refused one last

	Load planner.Load // zero without a term
}

// refusalAge is how long a refusal counts after which nothing was decided. What is refused is decided again sooner.
const refusalAge = 30 * time.Second

// Behind is how late a leader is at now: with deciding what is due, with a decision that the store does not answer, or with
// all of them, since the store refuses them. It grows also if the loop itself is stuck. Zero if nothing is late, and without
// a term.
func (s Status) Behind(now time.Time) (late time.Duration) {
	if s.Term == 0 {
		return 0
	}
	waiting := []time.Time{s.Asked, s.Due}
	if now.Sub(s.RefusedLast) < refusalAge {
		waiting = append(waiting, s.Refused)
	}
	for _, since := range waiting {
		if !since.IsZero() {
			late = max(late, now.Sub(since))
		}
	}
	return late
}

// refusals notes since when the store has refused decisions.
type refusals struct{ since, last time.Time }

// note takes over an answer. A conflict is a normal one, and a record that is too large is its job's affair.
func (r *refusals) note(err error, now time.Time) {
	switch {
	case err == nil:
		*r = refusals{}
	case errors.Is(err, job.ErrConflict), errors.Is(err, job.ErrTooLarge):
	default:
		if r.since.IsZero() {
			r.since = now
		}
		r.last = now
	}
}

// flight is the decisions that were handed to the store together.
type flight struct {
	asked time.Time
	left  int // that have not been answered
}

// flights are those under way, the oldest first.
type flights struct{ list []*flight }

func (f *flights) add(next *flight) {
	if next.left > 0 {
		f.list = append(f.list, next)
	}
}

// count is how many decisions are under way.
func (f *flights) count() (n int) {
	f.list = slices.DeleteFunc(f.list, func(f *flight) bool { return f.left == 0 })
	for _, f := range f.list {
		n += f.left
	}
	return n
}

// oldest is when the oldest of them was handed over, zero if there is none.
func (f *flights) oldest() time.Time {
	for _, f := range f.list {
		if f.left > 0 {
			return f.asked
		}
	}
	return time.Time{}
}
