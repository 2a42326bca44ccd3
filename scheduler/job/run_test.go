package job_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rota-scheduler/rota/scheduler/job"
)

var (
	at = time.Date(2026, 11, 21, 2, 30, 0, 0, time.UTC)
	q1 = &job.Worker{Name: "q1", Session: "s1"}
	q2 = &job.Worker{Name: "q2", Session: "s2"}
)

// must returns a function that fails the test if a transition was refused, and returns the changed run.
func must(t *testing.T) func(job.Run, error) job.Run {
	return func(r job.Run, err error) job.Run {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
}

func pending() job.Run {
	return job.Run{Job: "backup", ID: job.SlotID(at), Slot: at, Due: at, State: job.Pending, Reason: "no worker has room"}
}

func TestARunFromSlotToEnd(t *testing.T) {
	ok := must(t)
	r := ok(pending().Assign(q1))
	if r.State != job.Armed || r.Attempt != 1 || r.Worker != "q1" || r.Session != "s1" || r.Reason != "" {
		t.Errorf("assigned: %+v", r)
	}
	r = ok(r.Claim(17, at))
	if r.State != job.Running || r.Token != 17 || !r.Started.Equal(at) {
		t.Errorf("claimed: %+v", r)
	}
	code := 3
	r = ok(r.Requeue(job.Outcome{State: job.Failed, At: at.Add(time.Second), Reason: "exit 3", Exit: &code, Output: "oh"}, at.Add(time.Minute), "retry 1 of 2"))
	if r.State != job.Pending || r.Attempt != 1 || r.Worker != "" || r.Session != "" || r.Token != 0 ||
		!r.Due.Equal(at.Add(time.Minute)) || r.Reason != "retry 1 of 2" || *r.Exit != 3 || r.Output != "oh" {
		t.Errorf("to be tried again: %+v", r)
	}
	r = ok(r.Assign(q2))
	if r.Attempt != 2 || r.Exit != nil || r.Output != "" || !r.Started.IsZero() {
		t.Errorf("assigned again: %+v", r)
	}
	r = ok(r.Claim(23, at.Add(time.Minute)))
	r = ok(r.Finish(job.Outcome{State: job.Succeeded, At: at.Add(2 * time.Minute)}))
	if r.State != job.Succeeded || !r.Finished.Equal(at.Add(2*time.Minute)) {
		t.Errorf("finished: %+v", r)
	}
	want := []job.Attempt{
		{Number: 1, Worker: "q1", Token: 17, Started: at, Finished: at.Add(time.Second), State: job.Failed, Reason: "exit 3", Exit: &code},
		{Number: 2, Worker: "q2", Token: 23, Started: at.Add(time.Minute), Finished: at.Add(2 * time.Minute), State: job.Succeeded},
	}
	if diff := cmp.Diff(want, r.Attempts); diff != "" {
		t.Errorf("attempts (-want +got):\n%s", diff)
	}
	if r.LostAttempts() != 0 {
		t.Errorf("got %d lost attempts", r.LostAttempts())
	}
}

func TestAnAttemptThatWasNotBegunDoesNotCount(t *testing.T) {
	ok := must(t)
	r := ok(ok(pending().Assign(q1)).Recall("worker is stopping"))
	if r.State != job.Pending || r.Attempt != 0 || r.Worker != "" || r.Reason != "worker is stopping" || len(r.Attempts) != 0 {
		t.Errorf("recalled: %+v", r)
	}
	if r = ok(r.Assign(q2)); r.Attempt != 1 {
		t.Errorf("assigned after a recall: attempt %d, want 1", r.Attempt)
	}
	if r = ok(r.Assign(q1)); r.Attempt != 1 || r.Worker != "q1" {
		t.Errorf("handed over: attempt %d on %s, want 1 on q1", r.Attempt, r.Worker)
	}
	garbage := job.Run{State: job.Armed}
	if r = ok(garbage.Recall("x")); r.Attempt != 0 {
		t.Errorf("recalled a record without an attempt: attempt %d, want 0", r.Attempt)
	}
}

func TestStop(t *testing.T) {
	ok := must(t)
	why := job.Cancel{At: at, By: "ada", Reason: "enough"}
	armed := ok(pending().Assign(q1))
	for name, r := range map[string]job.Run{"pending": pending(), "armed": armed} {
		if got := ok(r.Stop(why)); got.State != job.Canceled || got.Reason != "enough" || !got.Finished.Equal(at) || got.Cancel.By != "ada" {
			t.Errorf("%s, stopped: %+v", name, got)
		} else if got.Attempt != 0 || got.Worker != "" || got.Session != "" {
			t.Errorf("%s, stopped before its attempt began: attempt %d of worker %q", name, got.Attempt, got.Worker)
		}
	}
	running := ok(armed.Claim(5, at))
	stopped := ok(running.Stop(why))
	if stopped.State != job.Running || stopped.Cancel == nil {
		t.Errorf("running, stopped: %+v", stopped)
	}
	if again := ok(stopped.Stop(job.Cancel{By: "bob"})); again.Cancel.By != "ada" {
		t.Errorf("stopped twice: by %s, want the first to stay", again.Cancel.By)
	}
	if running.Cancel != nil {
		t.Error("Stop touched its receiver")
	}
}

func TestATerminalRunIsNeverChanged(t *testing.T) {
	for _, state := range job.States() {
		if !state.Terminal() {
			continue
		}
		r := pending()
		r.State = state
		for name, move := range map[string]func() (job.Run, error){
			"assign": func() (job.Run, error) { return r.Assign(q1) },
			"claim":  func() (job.Run, error) { return r.Claim(1, at) },
			"recall": func() (job.Run, error) { return r.Recall("x") },
			"again":  func() (job.Run, error) { return r.Requeue(job.Outcome{State: job.Failed}, at, "x") },
			"finish": func() (job.Run, error) { return r.Finish(job.Outcome{State: job.Succeeded}) },
			"stop":   func() (job.Run, error) { return r.Stop(job.Cancel{}) },
		} {
			got, err := move()
			var refused *job.TransitionError
			if !errors.As(err, &refused) || refused.From != state || refused.Run != r.Name() {
				t.Errorf("%s a run that is %s: got error %v", name, state, err)
			}
			if diff := cmp.Diff(r, got); diff != "" {
				t.Errorf("%s a run that is %s changed it:\n%s", name, state, diff)
			}
		}
	}
}

func TestAttemptsAreBounded(t *testing.T) {
	ok := must(t)
	r := pending()
	for i := range 50 {
		r = ok(ok(r.Assign(q1)).Claim(int64(i+1), at))
		before := len(r.Attempts)
		next := ok(r.Requeue(job.Outcome{State: job.Failed, At: at}, at, "retry"))
		if len(r.Attempts) != before {
			t.Fatal("Again touched its receiver")
		}
		r = next
	}
	if n := len(r.Attempts); n != 20 {
		t.Fatalf("kept %d attempts, want 20", n)
	}
	if first, second, last := r.Attempts[0].Number, r.Attempts[1].Number, r.Attempts[19].Number; first != 1 || second != 32 || last != 50 {
		t.Errorf("kept the attempts %d, %d … %d, want the first and the latest: 1, 32 … 50", first, second, last)
	}
}

func TestLostAttemptsAreCountedBeyondTheBound(t *testing.T) {
	ok := must(t)
	r := pending()
	for i := range 50 {
		o := job.Outcome{State: job.Lost, At: at, Reason: job.WorkerStopped}
		if i%10 == 5 {
			o.State = job.Failed
		}
		r = ok(ok(ok(r.Assign(q1)).Claim(int64(i+1), at)).Requeue(o, at, "again"))
	}
	if len(r.Attempts) != 20 || r.LostAttempts() != 45 {
		t.Errorf("of 45 lost attempts and 5 that failed, the record keeps %d and counts %d as lost; want 20 and 45",
			len(r.Attempts), r.LostAttempts())
	}
}

func TestActive(t *testing.T) {
	for name, c := range map[string]struct {
		run  job.Run
		want bool
	}{
		"due":                 {job.Run{State: job.Pending, Due: at}, true},
		"for later":           {job.Run{State: job.Pending, Due: at.Add(1)}, false},
		"waits for its retry": {job.Run{State: job.Pending, Due: at.Add(time.Hour), Attempt: 1}, true},
		"armed":               {job.Run{State: job.Armed, Due: at.Add(1)}, true},
		"running":             {job.Run{State: job.Running}, true},
		"ended":               {job.Run{State: job.Succeeded}, false},
		"skipped":             {job.Run{State: job.Skipped}, false},
	} {
		if got := c.run.Active(at); got != c.want {
			t.Errorf("%s: active %v, want %v", name, got, c.want)
		}
	}
}

func TestRunNames(t *testing.T) {
	r := pending()
	if got, want := r.Name(), "backup/2026-11-21T02:30:00Z"; got != want {
		t.Errorf("name %s, want %s", got, want)
	}
	if got := r.IdempotencyKey(); got != r.Name() {
		t.Errorf("idempotency key %s, want the name", got)
	}
	if r.Key = "mine"; r.IdempotencyKey() != "mine" {
		t.Errorf("idempotency key %s, want the caller's", r.IdempotencyKey())
	}
	berlin := time.FixedZone("", 3600)
	if got, want := job.SlotID(at.In(berlin).Add(time.Millisecond)), "2026-11-21T02:30:00.001Z"; got != want {
		t.Errorf("slot id %s, want %s", got, want)
	}
	if j, id, err := job.ParseRunName(r.Name()); err != nil || j != r.Job || id != r.ID {
		t.Errorf("parsed %q, %q, %v", j, id, err)
	}
	for _, bad := range []string{"", "/", "a", "a/", "/b", "a/b/c"} {
		if _, _, err := job.ParseRunName(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestARunSurvivesItsJSON(t *testing.T) {
	ok := must(t)
	code := 0
	r := ok(ok(pending().Assign(q1)).Claim(9, at.Add(time.Millisecond)))
	r = ok(r.Finish(job.Outcome{State: job.Succeeded, At: at.Add(time.Second), Exit: &code}))
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var got job.Run
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Replicas of different versions compare these words with each other's records, so the words must stay those of version 0.1.0.
func TestReasonsThatAreComparedKeepTheirWords(t *testing.T) {
	for got, want := range map[string]string{
		job.ReasonNotYet: "waits for its time", job.ReasonNew: "waits for a worker", job.NotBegun: "before it began", job.WorkerStopped: "worker stopped",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for reason, costs := range map[string]bool{
		"worker stopped": false, "fork/exec /bin/sh: resource temporarily unavailable, before it began": false, "worker q1 was lost": true,
		"timed out after 1m, while the API server does not answer; Job a/b may continue: EOF": false,
	} {
		if got := job.CostsWorker(reason); got != costs {
			t.Errorf("%q: the attempt counts as a lost worker: %t, want %t", reason, got, costs)
		}
	}
}

// TestAnAttemptThatBeganAlwaysShows has one attempt that begins among many that do not. A run that has begun must not be skipped, and
// one that has not begun can be.
func TestAnAttemptThatBeganAlwaysShows(t *testing.T) {
	ok := must(t)
	for _, begins := range []int{0, 1, 2, 25, 49, 50} { // 50: none of them
		r := pending()
		for i := range 50 {
			o := job.Outcome{State: job.Lost, At: at, Reason: "worker q1 was lost " + job.NotBegun}
			if i == begins {
				o.Reason = "worker q1 was lost"
			}
			r = ok(ok(ok(r.Assign(q1)).Claim(int64(i+1), at)).Requeue(o, at, "again"))
		}
		if got, want := r.HasBegun(), begins < 50; got != want {
			t.Errorf("the run whose attempt %d begins has begun: %t, want %t", begins+1, got, want)
		}
		if len(r.Attempts) != 20 || r.LostAttempts() != 50 || r.Attempts[0].Number != 1 || r.Attempts[19].Number != 50 {
			t.Errorf("%d attempts count as lost, kept are %+v", r.LostAttempts(), r.Attempts)
		}
	}
}
