package worker

import (
	"context"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

func (f *fakeStore) Replaced(ctx context.Context, jobName, id string, rev int64) (job.Run, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.begin(ctx, "replaced", nil); err != nil {
		return job.Run{}, err
	}
	for _, r := range f.past {
		if r.Job == jobName && r.ID == id && r.Rev > rev {
			return r, nil
		}
	}
	return job.Run{}, job.ErrNotFound
}

// keep stores a record. f.mu is held.
func (f *fakeStore) keep(r job.Run) {
	f.runs[r.Name()] = r
	f.past = append(f.past, r)
}

// prune removes the record of a run, as a leader does by the limits of the history.
func (f *fakeStore) prune(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.runs, name)
}

// TestAnOutcomeOfARunThatIsGone checks that an outcome which the store took, but did not answer, did not come too late. This also holds
// if the history has no room for the run by then.
func TestAnOutcomeOfARunThatIsGone(t *testing.T) {
	for name, test := range map[string]struct {
		pruned func(run job.Run) bool // whether the run is removed after a write
		before func(r *rig, name string)
		events int
	}{
		"written": {
			pruned: func(run job.Run) bool { return run.State == job.Succeeded },
		},
		"written after a request to cancel": {
			before: func(r *rig, name string) {
				r.store.change(name, "", func(run job.Run) (job.Run, error) { return run.Stop(job.Cancel{At: time.Now(), Reason: "enough"}) })
			},
			pruned: func(run job.Run) bool { return run.State == job.Succeeded },
		},
		"given up before": {
			before: func(r *rig, name string) {
				r.store.change(name, "", func(run job.Run) (job.Run, error) {
					return run.Finish(job.Outcome{State: job.Lost, At: time.Now(), Reason: "worker lost"})
				})
				r.store.prune(name)
			},
			pruned: func(job.Run) bool { return false },
			events: 1,
		},
	} {
		bubble(t, name, func(t *testing.T) {
			r := newRig(t, lasting(2*time.Second))
			lost := false
			r.store.fault = func(op string, run *job.Run) fault {
				if op != "write" || lost || !run.State.Terminal() || r.store.runs[run.Name()].Rev != run.Rev {
					return none
				}
				lost = true
				return applied
			}
			r.store.wrote = func(run job.Run) {
				if test.pruned(run) {
					delete(r.store.runs, run.Name())
				}
			}
			r.start()
			name, _ := r.one()
			after(time.Second)
			if test.before != nil {
				test.before(r, name)
			}
			after(10 * time.Second)
			r.wantExecutions(1)
			if got := r.store.eventList(); len(got) != test.events {
				t.Errorf("events = %v, want %d", got, test.events)
			}
			after(2 * time.Second)
			r.wantJournal(0)
		})
	}
}
