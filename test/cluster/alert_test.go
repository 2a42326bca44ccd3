package cluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
)

// TestTheAlertGoesOut kills a worker while it executes. The notifier reports each retried attempt and each lost run once. If
// the leader is killed before its report, the next leader sends the report. A run that rota ended because its heartbeat
// stopped is reported once. A run whose heartbeat continues is not reported.
func TestTheAlertGoesOut(t *testing.T) {
	row(t)
	t.Parallel()
	const (
		again = "rota: attempt 1 of a run of job again was given up"
		once  = "rota: a run of job once was lost"
		hangs = "rota: job hangs timed out"
		beat  = 2 * time.Second
	)
	inbox := NewInbox(t)
	ledger := NewLedger(t)
	reports := func(times int) string {
		return fmt.Sprintf("for i in $(seq %d); do echo working; sleep 0.5; done; ", times)
	}
	c := Start(t, Config{Binary: binary, Flags: idle, Jobs: map[string]job.Spec{
		"hangs":  {Shell: ledger.Shell(reports(6) + "sleep 1000"), Heartbeat: job.Duration(beat), KillGrace: job.Duration(time.Second), Notify: inbox.Notify()},
		"steady": {Shell: ledger.Shell(reports(16) + "true"), Heartbeat: job.Duration(beat), Notify: inbox.Notify()},
		"again":  {Shell: ledger.Shell("sleep 6"), Notify: inbox.Notify()},
		"once":   {Shell: ledger.Shell("sleep 6"), Notify: inbox.Notify(), Delivery: job.AtMostOnce},
	}})
	// One round: a worker dies with a run of each job.
	round := func(worker string) (ran map[string]string) {
		doomed := c.AddWorker(worker)
		ran = make(map[string]string)
		for _, name := range []string{"again", "once"} {
			ran[name] = submit(t, c, name, api.RunRequest{}).ID
		}
		Await(t, 20*time.Second, "both runs are at work", func() bool {
			for name, id := range ran {
				if r := c.Recorder.Runs(name)[id]; r.State != job.Running || r.Worker != worker {
					return false
				}
			}
			return true
		})
		doomed.Kill()
		return ran
	}

	killed := time.Now()
	ran := round("w1")
	Await(t, 40*time.Second, "both notifications arrive", func() bool { return len(inbox.About(again)) > 0 && len(inbox.About(once)) > 0 })
	t.Logf("notified after %v", time.Since(killed).Round(10*time.Millisecond))
	if text := inbox.About(once)[0]; !strings.Contains(text, "run: once/"+ran["once"]) || !strings.Contains(text, "worker w1 was lost") {
		t.Errorf("the message is:\n%s", text)
	}
	rescue := c.AddWorker("w2")
	Await(t, 40*time.Second, "the run succeeds elsewhere", func() bool {
		return c.Recorder.Runs("again")[ran["again"]].State == job.Succeeded
	})
	if texts := inbox.Texts(); len(texts) != 2 {
		t.Errorf("%d messages, want 2:\n%s", len(texts), strings.Join(texts, "\n\n"))
	}
	rescue.Terminate()

	inbox.Hang(true)
	ran = round("w3")
	Await(t, 40*time.Second, "the notification is under way", func() bool { return inbox.Asked() > 0 })
	c.Leader().Kill()
	inbox.Hang(false)
	Await(t, 40*time.Second, "the next leader reports both", func() bool { return len(inbox.About(again)) > 1 && len(inbox.About(once)) > 1 })
	if text := inbox.About(again)[1]; !strings.Contains(text, "run: again/"+ran["again"]) || !strings.Contains(text, "worker w3 was lost") {
		t.Errorf("the message is:\n%s", text)
	}
	c.AddWorker("w4")
	Await(t, 40*time.Second, "the run succeeds elsewhere", func() bool {
		return c.Recorder.Runs("again")[ran["again"]].State == job.Succeeded
	})
	submit(t, c, "hangs", api.RunRequest{})
	submit(t, c, "steady", api.RunRequest{})
	c.startAll()
	Await(t, 40*time.Second, "the run that hangs is ended and reported", func() bool { return len(inbox.About(hangs)) > 0 })
	r := onlyRun(t, c, "hangs")
	const silence = "no heartbeat for 2s"
	if lasted := r.Finished.Sub(r.Started); r.State != job.TimedOut || !strings.HasPrefix(r.Reason, silence) || r.Attempt != 1 || lasted < 2*beat {
		t.Errorf("the run that hangs: got %s after attempt %d and %v (%s), want timed_out after the first and %v at least, for %q",
			r.State, r.Attempt, lasted, r.Reason, 2*beat, silence)
	}
	Await(t, 40*time.Second, "the run that reports on and on ends", func() bool { return onlyRun(t, c, "steady").State.Terminal() })
	if r := onlyRun(t, c, "steady"); r.State != job.Succeeded || r.Attempt != 1 || r.Finished.Sub(r.Started) < 3*beat {
		t.Errorf("the run that reports on and on: got %s after attempt %d and %v (%s), want succeeded with the first, after %v at least",
			r.State, r.Attempt, r.Finished.Sub(r.Started), r.Reason, 3*beat)
	}
	if text := inbox.About(hangs)[0]; !strings.Contains(text, "run: "+r.Name()) || !strings.Contains(text, silence) {
		t.Errorf("the message is:\n%s", text)
	}
	told := inbox.Texts()
	c.Check(ledger.Effects, nil, func(j *history.Job) { j.MayFail = true })
	if texts := inbox.Texts(); len(inbox.About(hangs)) != 1 || len(texts) != len(told) || len(inbox.About("rota: job steady")) > 0 {
		t.Errorf("%d messages, want one of the run that hangs and none of the other one:\n%s", len(texts), strings.Join(texts, "\n\n"))
	}
}
