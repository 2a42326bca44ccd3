package scheduler

import (
	"errors"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/planner"
)

// Status describes the loop, for health checks and display.
type Status struct {
	Term    int64     // zero: not leading
	Since   time.Time // start of the term, or of following
	Pending int       // decisions under way
	Oldest  time.Time // when the oldest of those was sent to the store; zero: none is under way
	Due     time.Time // when the next decision is due, past or future; zero: none is

	Refused     time.Time // since when the store has refused all decisions; zero: it accepts them
	RefusedLast time.Time // when it last refused one

	Load     planner.Load    // zero without a term
	Breakers map[string]bool // jobs that have a breaker, and whether it is open; nil without a term; must not be changed
}

// refusalAge is how long a refusal counts if no decision follows. A refused decision is normally repeated sooner.
const refusalAge = 30 * time.Second

// Behind returns how late the leader is at now: the largest of three durations. These are the delay of a decision that is due,
// the age of the oldest decision without an answer, and the time for which the store has refused decisions. The result also
// grows while the loop is stuck. Zero means that the leader is on time, or that there is no term.
func (s Status) Behind(now time.Time) (late time.Duration) {
	waiting := []time.Time{s.Oldest, s.Due}
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

// refusals records since when the store has refused decisions.
type refusals struct{ since, last time.Time }

// record takes the error of an answer; nil means success. It ignores conflicts, which are normal, and records that are too
// large, which concern only their job.
func (r *refusals) record(err error, now time.Time) {
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

// flight is a batch of decisions that was sent to the store.
type flight struct {
	began time.Time // when the planner began to decide
	sent  time.Time
	left  int // decisions without an answer
}

// flights are the batches under way, the oldest first.
type flights struct{ list []*flight }

func (f *flights) add(next *flight) {
	if next.left > 0 {
		f.list = append(f.list, next)
	}
}

// pending removes the batches whose decisions all have an answer. It returns how many decisions are under way, and when the
// oldest of them was sent; zero if there is none.
func (f *flights) pending() (n int, oldest time.Time) {
	f.list = slices.DeleteFunc(f.list, func(f *flight) bool { return f.left == 0 })
	for _, f := range f.list {
		n += f.left
	}
	if n > 0 {
		oldest = f.list[0].sent
	}
	return n, oldest
}
