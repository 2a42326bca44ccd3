package policy

import (
	"math"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

func outcome(state job.State, exit int, retry bool) job.Outcome {
	return job.Outcome{State: state, Exit: &exit, Retry: retry}
}

// tried returns a run that executes its nth attempt. lost is the number of earlier attempts whose worker was lost.
func tried(n, lost int) *job.Run {
	r := &job.Run{Job: "backup", ID: "a", State: job.Running, Attempt: n, Worker: "w1"}
	for i := range n - 1 {
		state := job.Failed
		if i < lost {
			state = job.Lost
		}
		r.Attempts = append(r.Attempts, job.Attempt{Number: i + 1, State: state})
	}
	return r
}

var epoch = time.Date(2026, 11, 21, 2, 30, 0, 0, time.UTC)

// decide calls DecideRetry with the time epoch. reason is the reason of the retry, or of the outcome if again is false.
func decide(e EndedAttempt) (due time.Time, reason string, again bool) {
	e.Now, e.Random = epoch, 0.5
	o, retry := DecideRetry(e)
	if retry == nil {
		return time.Time{}, o.Reason, false
	}
	return retry.Due, retry.Reason, true
}

func TestRetry(t *testing.T) {
	second := job.Duration(time.Second)
	retry := func(most int, b job.Backoff, jitter job.RetryJitter) *job.Retry {
		return &job.Retry{Max: most, Backoff: b, Min: second, MaxDelay: 10 * second, Jitter: jitter}
	}
	on := func(codes ...job.RetryOn) *job.Retry {
		r := retry(3, job.BackoffConstant, job.JitterNone)
		r.On = codes
		return r
	}
	fixed := retry(3, job.BackoffConstant, job.JitterNone)
	canceled := tried(1, 0)
	canceled.Cancel = &job.Cancel{Reason: "canceled by request"}
	long := tried(1, 0)
	long.Attempt = 60 // the record keeps only a few of these attempts

	for _, c := range []struct {
		name   string
		retry  *job.Retry
		run    *job.Run
		o      job.Outcome
		wait   time.Duration
		reason string
		again  bool
	}{
		{"a listed code", on("75", "3"), tried(1, 0), outcome(job.Failed, 3, true), time.Second, "retry 1 of 3", true},
		{"a code that is not listed", on("75", "3"), tried(1, 0), outcome(job.Failed, 1, true), 0, "", false},
		{"a timeout that is listed", on("timeout"), tried(1, 0), outcome(job.TimedOut, 143, true), time.Second, "retry 1 of 3", true},
		{"a timeout that is not listed", on("143"), tried(1, 0), outcome(job.TimedOut, 143, true), 0, "", false},
		{"a class of statuses", on("5xx", "404"), tried(1, 0), outcome(job.Failed, 503, true), time.Second, "retry 1 of 3", true},
		{"a status that is final otherwise", on("404"), tried(1, 0), outcome(job.Failed, 404, false), time.Second, "retry 1 of 3", true},
		{"a status that is not listed", on("404"), tried(1, 0), outcome(job.Failed, 503, true), 0, "", false},
		{
			"no answer, although only codes are listed", on("404"), tried(1, 0), job.Outcome{State: job.Failed, Retry: true},
			time.Second, "retry 1 of 3", true,
		},
		{"a failure is tried again", fixed, tried(1, 0), outcome(job.Failed, 1, true), time.Second, "retry 1 of 3", true},
		{"the last retry is granted", fixed, tried(3, 0), outcome(job.Failed, 1, true), time.Second, "retry 3 of 3", true},
		{"one more retry is refused", fixed, tried(4, 0), outcome(job.Failed, 1, true), 0, "gave up after 3 retries", false},
		{"lost attempts do not count", fixed, tried(4, 2), outcome(job.Failed, 1, true), time.Second, "retry 2 of 3", true},
		{"attempts that the record dropped count", retry(50, job.BackoffConstant, job.JitterNone), long,
			outcome(job.Failed, 1, true), 0, "gave up after 50 retries", false},
		{"a timeout is tried again", fixed, tried(1, 0), outcome(job.TimedOut, 0, false), time.Second, "retry 1 of 3", true},
		{"a failure that forbids a retry is final", fixed, tried(1, 0), outcome(job.Failed, 127, false), 0, "", false},
		{"a success is not retried", fixed, tried(1, 0), outcome(job.Succeeded, 0, true), 0, "", false},
		{"a success with a listed code is not retried", on("3"), tried(1, 0), outcome(job.Succeeded, 3, false), 0, "", false},
		{"a canceled attempt is not retried", fixed, tried(1, 0), outcome(job.Canceled, 0, true), 0, "", false},
		{"a canceled run is not retried", fixed, canceled, outcome(job.Failed, 1, true), 0, "", false},
		{"without a policy a failure is final", nil, tried(1, 0), outcome(job.Failed, 1, true), 0, "", false},
		{"without a policy a timeout is final", nil, tried(1, 0), outcome(job.TimedOut, 0, true), 0, "", false},
		{"without a policy exit code 75 is obeyed", nil, tried(1, 0), outcome(job.Failed, 75, true), time.Second / 2, "retry 1 of 3", true},
		{"without a policy exit code 75 is obeyed three times", nil, tried(4, 0), outcome(job.Failed, 75, true), 0, "gave up after 3 retries", false},
		{"a policy that grants none is obeyed", &job.Retry{}, tried(1, 0), outcome(job.Failed, 75, true), 0, "", false},
		{"linear", retry(9, job.BackoffLinear, job.JitterNone), tried(3, 0), outcome(job.Failed, 1, true), 3 * time.Second, "retry 3 of 9", true},
		{"exponential", retry(9, job.BackoffExponential, job.JitterNone), tried(4, 0), outcome(job.Failed, 1, true), 8 * time.Second, "retry 4 of 9", true},
		{"after a hundred retries", retry(1000, job.BackoffExponential, job.JitterNone), tried(100, 0), outcome(job.Failed, 1, true), 10 * time.Second,
			"retry 100 of 1000", true},
		{"capped", retry(9, job.BackoffExponential, job.JitterNone), tried(5, 0), outcome(job.Failed, 1, true), 10 * time.Second, "retry 5 of 9", true},
		{"with jitter", retry(9, job.BackoffExponential, job.JitterFull), tried(4, 0), outcome(job.Failed, 1, true), 4 * time.Second, "retry 4 of 9", true},
		{"the delay that the target asks for is a lower bound", fixed, tried(1, 0), job.Outcome{State: job.Failed, Retry: true, After: time.Minute}, time.Minute, "retry 1 of 3", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := job.Spec{Command: []string{"x"}, Retry: c.retry}
			due, reason, again := decide(EndedAttempt{Spec: &spec, Run: c.run, Outcome: c.o})
			var want time.Time
			if c.again {
				want = epoch.Add(c.wait)
			}
			if !due.Equal(want) || reason != c.reason || again != c.again {
				t.Errorf("DecideDecideRetry() = %v, %q, %v; want %v, %q, %v", due, reason, again, want, c.reason, c.again)
			}
		})
	}

	t.Run("without a policy a request is retried if its outcome allows it", func(t *testing.T) {
		busy := outcome(job.Failed, 503, true)
		busy.After = 2 * time.Second
		spec := job.Spec{HTTP: &job.HTTP{}}
		if due, reason, again := decide(EndedAttempt{Spec: &spec, Run: tried(1, 0), Outcome: busy}); !again || !due.Equal(epoch.Add(busy.After)) || reason != "retry 1 of 3" {
			t.Errorf("after 503 with Retry-After: DecideRetry() = %v, %q, %v; want the target's wish", due, reason, again)
		}
		if _, reason, again := decide(EndedAttempt{Spec: &spec, Run: tried(4, 0), Outcome: busy}); again || reason != "gave up after 3 retries" {
			t.Errorf("after three retries: DecideRetry() = %q, %v", reason, again)
		}
		for name, o := range map[string]job.Outcome{"404": outcome(job.Failed, 404, false), "a timeout": {State: job.TimedOut, Retry: true}} {
			if _, _, again := decide(EndedAttempt{Spec: &spec, Run: tried(1, 0), Outcome: o}); again {
				t.Errorf("after %s: DecideRetry() grants a retry", name)
			}
		}
		for name, spec := range map[string]job.Spec{
			"at_most_once": {HTTP: &job.HTTP{}, Delivery: job.AtMostOnce},
			"max: 0":       {HTTP: &job.HTTP{}, Retry: &job.Retry{}},
		} {
			if _, _, again := decide(EndedAttempt{Spec: &spec, Run: tried(1, 0), Outcome: busy}); again {
				t.Errorf("with %s: DecideRetry() grants a retry", name)
			}
		}
	})

	t.Run("exit code 75 of a handler means nothing", func(t *testing.T) {
		spec := job.Spec{Handler: "x"}
		if _, _, again := decide(EndedAttempt{Spec: &spec, Run: tried(1, 0), Outcome: outcome(job.Failed, 75, true)}); again {
			t.Error("DecideRetry() grants a retry")
		}
	})
}

func TestBackoffNeverOverflows(t *testing.T) {
	for _, b := range job.Backoffs() {
		for _, n := range []int{1, 2, 62, 63, 64, 65, math.MaxInt32, math.MaxInt} {
			for _, longest := range []time.Duration{0, time.Hour, math.MaxInt64} {
				r := job.Retry{Backoff: b, Min: job.Duration(time.Second), MaxDelay: job.Duration(longest)}
				got := backoff(&r, n)
				if got < time.Second || longest > 0 && got > longest {
					t.Errorf("%s, retry %d, at most %v: delay %v", b, n, longest, got)
				}
			}
		}
	}
}

func TestLost(t *testing.T) {
	canceled := tried(1, 0)
	canceled.Cancel = &job.Cancel{Reason: "canceled by request"}
	lost := func(reasons ...string) *job.Run {
		r := tried(len(reasons)+1, len(reasons))
		for i, reason := range reasons {
			r.Attempts[i].Reason = reason
		}
		return r
	}
	const vanished, stopped, notBegun = "worker w1 was lost", job.WorkerStopped + ", ended by SIGTERM", "worker lost its lease " + job.NotBegun
	for _, c := range []struct {
		name     string
		delivery job.Delivery
		run      *job.Run
		why      string
		again    bool
		reason   string
	}{
		{"at_least_once is tried again", job.AtLeastOnce, tried(1, 0), vanished, true, "tried again after losing worker w1"},
		{"at_least_once is tried again after failures", job.AtLeastOnce, tried(9, 3), vanished, true, "tried again after losing worker w1"},
		{"the fifth loss is final", job.AtLeastOnce, tried(5, 4), vanished, false, "lost 5 workers"},
		{"the fifth loss is final also among stopped workers", job.AtLeastOnce,
			lost(vanished, stopped, vanished, vanished, notBegun, vanished), vanished, false, "lost 5 workers"},
		{"workers that were stopped do not count", job.AtLeastOnce, lost(stopped, stopped, stopped, stopped, stopped), vanished, true, "tried again after losing worker w1"},
		{"attempts that had not begun do not count", job.AtLeastOnce, lost(notBegun, notBegun, notBegun, notBegun, notBegun), vanished, true, "tried again after losing worker w1"},
		{"a stopped worker after four losses does not count", job.AtLeastOnce, lost(vanished, vanished, vanished, vanished), stopped, true, "tried again after losing worker w1"},
		{"at_most_once is not retried", job.AtMostOnce, tried(1, 0), vanished, false, "its delivery is at_most_once"},
		{"a canceled run is not retried", job.AtLeastOnce, canceled, vanished, false, "canceled by request"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, reason, again := decide(EndedAttempt{
				Spec: &job.Spec{Delivery: c.delivery}, Run: c.run, Outcome: job.Outcome{State: job.Lost, Reason: c.why},
			})
			if want := c.why + "; " + c.reason; again != c.again || reason != c.reason && (again || reason != want) {
				t.Errorf("DecideRetry() = %v, %q; want %v, %q", again, reason, c.again, c.reason)
			}
		})
	}
}

func TestALostAttemptMayAskForAPause(t *testing.T) {
	o := job.Outcome{State: job.Lost, Reason: "no port, " + job.NotBegun, After: 3 * time.Second}
	for _, d := range job.Deliveries() {
		due, reason, again := decide(EndedAttempt{Spec: &job.Spec{Delivery: d}, Run: tried(1, 0), Outcome: o, NotBegun: true})
		if want := "tried again after 3s, since its attempt could not begin"; !again || !due.Equal(epoch.Add(o.After)) || reason != want {
			t.Errorf("%s: got %v, %v, %q; want another attempt after %v", d, again, due, reason, o.After)
		}
	}
}

func TestRetryOfAnAttemptThatALeaderGaveUp(t *testing.T) {
	canceled := tried(1, 0)
	canceled.Cancel = &job.Cancel{Reason: "canceled by request"}
	retry := &job.Retry{Max: 1, Min: job.Duration(time.Second)}
	for _, c := range []struct {
		name   string
		spec   *job.Spec
		run    *job.Run
		state  job.State
		reason string
		again  bool
	}{
		{"is granted by the retry policy", &job.Spec{Retry: retry}, tried(1, 0), job.TimedOut, "retry 1 of 1", true},
		{"is refused when the policy is used up", &job.Spec{Retry: retry}, tried(2, 0), job.TimedOut, "overdue; gave up after 1 retry", false},
		{"is refused at_most_once", &job.Spec{Delivery: job.AtMostOnce, Retry: retry}, tried(1, 0), job.Lost, "overdue; its delivery is at_most_once", false},
		{"is refused when the job was deleted", nil, tried(1, 0), job.Lost, "overdue; the job was deleted", false},
		{"is refused when cancellation was requested", &job.Spec{Retry: retry}, canceled, job.Canceled, "overdue; canceled by request", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := EndedAttempt{Spec: c.spec, Run: c.run, Outcome: job.Outcome{State: job.TimedOut, Reason: "overdue"}, Now: epoch, GivenUp: true}
			o, r := DecideRetry(e)
			reason := o.Reason
			if r != nil {
				reason = r.Reason
			}
			if o.State != c.state || reason != c.reason || (r != nil) != c.again {
				t.Errorf("DecideRetry() = %s, %q, retry %v; want %s, %q, %v", o.State, reason, r != nil, c.state, c.reason, c.again)
			}
		})
	}
}
