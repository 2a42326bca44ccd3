package worker

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestClaims(t *testing.T) {
	// hold gives the worker n runs of a job that are due in two seconds.
	hold := func(r *rig, jobName string, n int) (names []string) {
		due := time.Now().Add(2 * time.Second)
		for i := range n {
			names = append(names, r.store.pending(jobName, fmt.Sprint(i), due))
		}
		r.give(names...)
		return names
	}

	t.Run("of a herd spread over the time before it, and all of it begins together", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			const n = 200
			r := newRig(t, lasting(time.Second))
			r.cfg.Capacity = n
			r.start()
			names := hold(r, "backup", n)
			after(2*time.Second - claimAhead - n*claimCost - time.Nanosecond)
			for _, name := range names {
				r.wantState(name, job.Armed)
			}
			after(n*claimCost + time.Nanosecond)
			for _, name := range names {
				r.wantState(name, job.Running)
			}
			after(claimAhead - time.Nanosecond)
			r.wantExecutions(0)
			after(time.Nanosecond)
			r.wantExecutions(n)
		})
	})

	t.Run("come earlier where they take long, for a while", func(t *testing.T) {
		for _, c := range []struct{ took, want time.Duration }{
			{60 * time.Millisecond, 120 * time.Millisecond},
			{time.Second, claimMost},
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
				hold(r, "backup", 1)
				after(4 * time.Second)
				for _, ahead := range []time.Duration{c.want, claimAhead} {
					name := hold(r, "backup", 1)[0]
					after(2*time.Second - ahead - time.Nanosecond)
					r.wantState(name, job.Armed)
					after(time.Nanosecond)
					r.wantState(name, job.Running)
					after(3 * lately)
				}
			})
		}
	})

	t.Run("come in their time where nobody repeats an attempt that was lost", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, lasting(time.Second))
			r.store.define("charge", job.Spec{Command: []string{"charge"}, Delivery: job.AtMostOnce})
			r.start()
			name := hold(r, "charge", 1)[0]
			after(2*time.Second - time.Nanosecond)
			r.wantState(name, job.Armed)
			after(time.Nanosecond)
			r.wantState(name, job.Running)
			r.wantExecutions(1)
		})
	})

	t.Run("hold up nobody's end: an attempt that is to stop before its time does not begin", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, lasting(time.Second))
			r.start()
			name := hold(r, "backup", 1)[0]
			after(2*time.Second - claimAhead/2)
			r.store.change(name, r.session().id, func(run job.Run) (job.Run, error) {
				return run.Stop(job.Cancel{At: time.Now(), Reason: "not today"})
			})
			after(claimAhead)
			r.wantState(name, job.Canceled)
			r.wantExecutions(0)
		})
	})

	t.Run("are given back by a worker that loses its session before their time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, lasting(time.Second))
			r.start()
			name := hold(r, "backup", 1)[0]
			after(2*time.Second - claimAhead/2)
			r.session().lose()
			after(claimAhead)
			r.wantExecutions(0)
			got := r.wantState(name, job.Pending)
			if len(got.Attempts) != 1 || got.Attempts[0].State != job.Lost {
				t.Errorf("attempts are %v, want one that was lost", got.Attempts)
			}
			if got.Due.Before(got.Slot) {
				t.Errorf("due %v before its slot", got.Slot.Sub(got.Due))
			}
		})
	})
}

func TestNothingBeginsEarlyHoweverLongItTakesToReadTheClock(t *testing.T) {
	start := time.Now()
	now := start
	read := func() time.Time {
		now = now.Add(2 * clockError)
		return now
	}
	w := &Worker{now: read}
	w.cfg.LeaderNow = func(int64) (time.Time, bool) { return read(), true }
	run := job.Run{Due: start.Add(2 * time.Second).Round(0), Armed: start.Round(0)}
	if got := w.beginning(&run, start); got.Before(run.Due) {
		t.Errorf("begins %v before its time", run.Due.Sub(got))
	}
}
