package worker

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestClaims(t *testing.T) {
	// assign assigns to the worker n runs of a job that are due in two seconds.
	assign := func(r *rig, jobName string, n int) (names []string) {
		due := time.Now().Add(2 * time.Second)
		for i := range n {
			names = append(names, r.store.pending(jobName, fmt.Sprint(i), due))
		}
		r.give(names...)
		return names
	}

	bubble(t, "of many runs are spread over the time before their start, and all runs begin together", func(t *testing.T) {
		const n = 200
		r := newRig(t, lasting(time.Second))
		r.cfg.Capacity = n
		r.start()
		names := assign(r, "backup", n)
		after(2*time.Second - minLead - n*claimCost - time.Nanosecond)
		for _, name := range names {
			r.wantState(name, job.Armed)
		}
		after(n*claimCost + time.Nanosecond)
		for _, name := range names {
			r.wantState(name, job.Running)
		}
		after(minLead - time.Nanosecond)
		r.wantExecutions(0)
		after(time.Nanosecond)
		r.wantExecutions(n)
	})

	t.Run("are sent earlier while claims are slow", func(t *testing.T) {
		for _, c := range []struct{ took, want time.Duration }{
			{60 * time.Millisecond, 120 * time.Millisecond},
			{time.Second, maxLead},
		} {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, lasting(time.Millisecond))
				slow := true
				r.store.wrote = func(job.Run) {
					if slow {
						time.Sleep(c.took)
					}
					slow = false
				}
				r.start()
				assign(r, "backup", 1)
				after(4 * time.Second)
				for _, ahead := range []time.Duration{c.want, minLead} {
					name := assign(r, "backup", 1)[0]
					after(2*time.Second - ahead - time.Nanosecond)
					r.wantState(name, job.Armed)
					after(time.Nanosecond)
					r.wantState(name, job.Running)
					after(3 * latencyWindow)
				}
			})
		}
	})

	bubble(t, "are sent at the run's time if its delivery is at_most_once", func(t *testing.T) {
		r := newRig(t, lasting(time.Second))
		r.store.define("charge", job.Spec{Command: []string{"charge"}, Delivery: job.AtMostOnce})
		r.start()
		name := assign(r, "charge", 1)[0]
		after(2*time.Second - time.Nanosecond)
		r.wantState(name, job.Armed)
		after(time.Nanosecond)
		r.wantState(name, job.Running)
		r.wantExecutions(1)
	})

	bubble(t, "delay no stop: an attempt that is stopped before its time does not begin", func(t *testing.T) {
		r := newRig(t, lasting(time.Second))
		r.start()
		name := assign(r, "backup", 1)[0]
		after(2*time.Second - minLead/2)
		r.store.change(name, r.session().id, func(run job.Run) (job.Run, error) {
			return run.Stop(job.Cancel{At: time.Now(), Reason: "not today"})
		})
		after(minLead)
		r.wantState(name, job.Canceled)
		r.wantExecutions(0)
	})

	bubble(t, "of a worker that loses its session before their time do not begin", func(t *testing.T) {
		r := newRig(t, lasting(time.Second))
		r.start()
		name := assign(r, "backup", 1)[0]
		after(2*time.Second - minLead/2)
		r.session().lose()
		after(minLead)
		r.wantExecutions(0)
		got := r.wantState(name, job.Pending)
		if len(got.Attempts) != 1 || got.Attempts[0].State != job.Lost {
			t.Errorf("attempts are %v, want one that was lost", got.Attempts)
		}
		if got.Due.Before(got.Slot) {
			t.Errorf("due %v before its slot", got.Slot.Sub(got.Due))
		}
	})
}

func TestNoRunBeginsEarlyWithASlowClock(t *testing.T) {
	start := time.Now()
	now := start
	read := func() time.Time {
		now = now.Add(2 * clockError)
		return now
	}
	w := &Worker{now: read}
	w.cfg.LeaderNow = func(int64) (time.Time, bool) { return read(), true }
	run := job.Run{Due: start.Add(2 * time.Second).Round(0), Armed: start.Round(0)}
	if got := w.startTime(&run, start); got.Before(run.Due) {
		t.Errorf("begins %v before its time", run.Due.Sub(got))
	}
}

// lateness is an observer that records how late attempts begin.
type lateness struct {
	noObserver
	mu   sync.Mutex
	late []time.Duration
}

func (l *lateness) Began(_ *job.Run, late time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.late = append(l.late, late)
}

func TestLatenessIsTheTimeFromDueToStart(t *testing.T) {
	for _, skew := range []time.Duration{0, 45 * time.Second, -45 * time.Second} {
		bubble(t, "a leader's clock that is ahead by "+skew.String(), func(t *testing.T) {
			r, seen := newRig(t, lasting(time.Second)), new(lateness)
			r.cfg.Observer = seen
			r.store.skew = skew
			r.start()
			leader := func() time.Time { return time.Now().Add(skew) }
			r.give(r.store.pending("backup", "waited", leader().Add(-10*time.Second)), r.store.pending("backup", "ahead", leader().Add(2*time.Second)))
			after(5 * time.Second)
			if want := []time.Duration{10 * time.Second, 0}; !slices.Equal(seen.late, want) {
				t.Errorf("got %v, want %v", seen.late, want)
			}
		})
	}
}

// TestAReassignedRunBeginsInItsTime assigns a run to the same worker again. The worker learns about the new assignment because
// the store refuses its claim.
func TestAReassignedRunBeginsInItsTime(t *testing.T) {
	for _, delivered := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, lasting(time.Second))
			r.start()
			name := r.store.pending("backup", "a", time.Now().Add(2*time.Second))
			r.give(name)
			after(time.Second)
			r.store.change(name, "", func(run job.Run) (job.Run, error) {
				run.Armed = time.Now()
				return run, nil
			})
			after(time.Second - time.Nanosecond)
			r.wantExecutions(0)
			if delivered { // the order arrives only now
				run := r.store.get(name)
				r.store.again(job.Order{ID: "late", Session: run.Session, Rev: run.Rev, Runs: []job.Run{run}})
			}
			after(time.Nanosecond)
			r.wantExecutions(1)
			after(5 * time.Second)
			r.wantExecutions(1)
		})
	}
}

func TestClaimsOfOneRunDifferInTheirStarts(t *testing.T) {
	now := time.Now()
	if a, b := recordedStart(now.Add(time.Second), now, 1), recordedStart(now.Add(time.Second), now, 2); a.Equal(b) {
		t.Errorf("both are %v", a)
	}
}
