package worker

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAttempt(t *testing.T) {
	bubble(t, "is executed once with its order's revision as token", func(t *testing.T) {
		r := newRig(t, lasting(time.Second))
		r.start()
		name, order := r.one()
		after(100 * time.Millisecond)
		running := r.wantState(name, job.Running)
		if running.Token != order.Rev || !running.Started.Equal(order.Runs[0].Due) {
			t.Errorf("claimed with token %d at %v, want %d at %v", running.Token, running.Started, order.Rev, order.Runs[0].Due)
		}
		if running.Bound < job.DefaultTimeout {
			t.Errorf("claimed for %v, want a bound in the record", running.Bound)
		}
		after(time.Second)
		got := r.wantState(name, job.Succeeded)
		if got.Output != "done" || len(got.Attempts) != 1 || got.Attempts[0].Token != order.Rev {
			t.Errorf("run = %+v, want output and one attempt with token %d", got, order.Rev)
		}
		req := r.wantExecutions(1)[0]
		if want := running.Started.Add(24 * time.Hour); !req.Deadline.Equal(want) {
			t.Errorf("deadline = %v, want %v", req.Deadline, want)
		}
		if n := r.store.queued(); n != 0 {
			t.Errorf("%d orders are queued, want none", n)
		}
		after(2 * time.Second)
		r.wantJournal(0)
		if log, err := r.w.Log(name, 1); err != nil {
			t.Error(err)
		} else {
			log.Close()
		}
	})

	bubble(t, "times out", func(t *testing.T) {
		r := newRig(t, lasting(time.Hour))
		r.store.define("backup", job.Spec{Command: []string{"x"}, Timeout: job.Duration(time.Minute)})
		r.start()
		name, _ := r.one()
		after(time.Minute)
		r.wantState(name, job.TimedOut)
	})

	bubble(t, "that failed is retried after the delay of its policy", func(t *testing.T) {
		r := newRig(t, failing)
		r.store.define("backup", job.Spec{Command: []string{"x"}, Retry: &job.Retry{
			Max: 2, Backoff: job.BackoffLinear, Min: job.Duration(time.Minute), Jitter: job.JitterNone,
		}})
		r.start()
		name, _ := r.one()
		for n := 1; n <= 2; n++ {
			begun := time.Now()
			after(time.Second)
			got := r.wantState(name, job.Pending)
			if want := begun.Add(time.Duration(n) * time.Minute); !got.Due.Equal(want) {
				t.Errorf("retry %d is due at %v, want %v", n, got.Due, want)
			}
			time.Sleep(time.Until(got.Due))
			r.give(name)
		}
		after(time.Second)
		got := r.wantState(name, job.Failed)
		if want := "exit code 1; gave up after 2 retries"; got.Reason != want || len(got.Attempts) != 3 {
			t.Errorf("ended with %q after %d attempts, want %q after 3", got.Reason, len(got.Attempts), want)
		}
	})

	bubble(t, "of a deleted job is canceled", func(t *testing.T) {
		r := newRig(t, lasting(time.Second))
		r.start()
		name := r.store.pending("gone", "a", time.Now())
		r.give(name)
		after(time.Second)
		if got := r.wantState(name, job.Canceled); got.Reason != "job deleted" {
			t.Errorf("reason = %q, want job deleted", got.Reason)
		}
		r.wantExecutions(0)
	})

	bubble(t, "of an ad hoc run needs no job", func(t *testing.T) {
		r := newRig(t, lasting(time.Second))
		r.start()
		name := r.store.pending(job.AdHoc, "a", time.Now())
		spec := job.Spec{Command: []string{"true"}}.WithDefaults()
		r.store.change(name, "", func(run job.Run) (job.Run, error) { run.Spec = &spec; return run, nil })
		r.give(name)
		after(2 * time.Second)
		r.wantState(name, job.Succeeded)
	})

	bubble(t, "executes the edited definition", func(t *testing.T) {
		r := newRig(t, lasting(time.Millisecond))
		r.start()
		r.one()
		after(10 * time.Millisecond)
		r.store.define("backup", job.Spec{Command: []string{"new"}})
		name := r.store.pending("backup", "b", time.Now())
		r.give(name)
		after(10 * time.Millisecond)
		if got := r.wantExecutions(2)[1].Spec.Command[0]; got != "new" {
			t.Errorf("executed %q, want new", got)
		}
	})

	bubble(t, "is handed back when its definition cannot be read", func(t *testing.T) {
		r := newRig(t, lasting(time.Second))
		r.store.fault = only("job", refused)
		r.start()
		name, _ := r.one()
		after(definitionTimeout + time.Second)
		if got := r.wantState(name, job.Pending); got.Reason != string(errNoSpec) {
			t.Errorf("reason = %q, want %q", got.Reason, errNoSpec)
		}
	})
}
