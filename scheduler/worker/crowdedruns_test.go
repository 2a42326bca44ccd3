package worker

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestAnOutcomeThatItsRecordHasNoRoomFor checks that an outcome which the store took, but did not answer, did not come too late. So
// many attempts followed that the record does not list this one any more.
func TestAnOutcomeThatItsRecordHasNoRoomFor(t *testing.T) {
	for name, test := range map[string]struct {
		givenUp bool // the leader ends the attempt before its worker does
		events  int
	}{
		"written":  {},
		"given up": {givenUp: true, events: 1},
	} {
		bubble(t, name, func(t *testing.T) {
			r := newRig(t, failing)
			r.store.define("backup", job.Spec{Command: []string{"x"}, Retry: &job.Retry{Max: 1000}})
			lost := false
			r.store.fault = func(op string, run *job.Run) fault {
				if op != "write" || lost || run.State != job.Pending {
					return none
				}
				lost = true
				if test.givenUp {
					r.store.endElsewhere(run.Name(), 40)
					return refused
				}
				return applied
			}
			r.store.wrote = func(run job.Run) {
				if run.State == job.Pending {
					r.store.endElsewhere(run.Name(), 40)
				}
			}
			r.start()
			name := r.store.pending("backup", "a", time.Now())
			r.store.mu.Lock()
			r.store.endElsewhere(name, 1) // the record keeps the first attempt in any case
			r.store.mu.Unlock()
			r.give(name)
			after(10 * time.Second)
			r.wantExecutions(1)
			if got := r.store.eventList(); len(got) != test.events {
				t.Errorf("events = %v, want %d", got, test.events)
			}
			r.wantJournal(0)
		})
	}
}

// TestAnOutcomeThatNothingShowsAnyMore checks that the event of an outcome claims nothing if the history has no room for the run, and
// etcd has forgotten how it ended.
func TestAnOutcomeThatNothingShowsAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lasting(2*time.Second))
		r.store.fault = lostEnd()
		r.store.wrote = func(run job.Run) {
			if run.State.Terminal() {
				delete(r.store.runs, run.Name())
				r.store.past = nil
			}
		}
		r.start()
		r.one()
		after(10 * time.Second)
		r.wantExecutions(1)
		const want = "attempt 1 ended succeeded, but nothing shows any more whether it had been given up: the run is gone"
		if got := r.store.eventList(); len(got) != 1 || got[0].Reason != want {
			t.Errorf("events = %v, want one with the reason %q", got, want)
		}
		r.wantJournal(0)
	})
}

// fencedSeen counts the outcomes that were reported as too late.
type fencedSeen struct {
	noObserver
	n atomic.Int32
}

func (s *fencedSeen) Fenced(*job.Run, *job.Outcome) { s.n.Add(1) }

// TestAnOutcomeWhoseFateIsNotKnownYet checks that an outcome does not count as too late, and stays in the journal, if the worker stops
// before the store says what became of it.
func TestAnOutcomeWhoseFateIsNotKnownYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, seen := newRig(t, lasting(2*time.Second)), new(fencedSeen)
		r.cfg.Observer = seen
		end := lostEnd()
		r.store.fault = func(op string, run *job.Run) fault {
			if op == "replaced" {
				return refused
			}
			return end(op, run)
		}
		r.store.wrote = func(run job.Run) {
			if run.State.Terminal() {
				delete(r.store.runs, run.Name())
			}
		}
		r.start()
		r.one()
		after(10 * time.Second)
		r.finish()
		if n := seen.n.Load(); n != 0 {
			t.Errorf("%d outcomes counted as too late, want none", n)
		}
		r.wantJournal(1)
	})
}

// endElsewhere ends n attempts of a run one after the other, as leaders and other workers do. f.mu is held.
func (f *fakeStore) endElsewhere(name string, n int) {
	for range n {
		r := f.runs[name]
		if r.State == job.Running {
			r, err := r.Requeue(job.Outcome{State: job.Lost, At: time.Now(), Reason: "worker lost"}, time.Now(), "again")
			f.next(r.GiveUp(), err)
			continue
		}
		f.next(r.Assign(&job.Worker{Name: "w2", Session: "s2"}))
		r = f.runs[name]
		f.next(r.Claim(r.Rev, time.Now()))
		f.next(f.runs[name].Requeue(job.Outcome{State: job.Failed, At: time.Now()}, time.Now(), "again"))
	}
}

// next stores the next record of a run. f.mu is held.
func (f *fakeStore) next(r job.Run, err error) {
	if err != nil {
		panic(err)
	}
	f.rev++
	f.keep(stored(r, f.rev))
}
