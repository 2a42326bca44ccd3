package cluster

import (
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
)

// TestTheAlertGoesOut kills a worker while it executes: whoever is to know is told once of the attempt that is tried again,
// and of the run that is lost; and after the leader was killed before it could tell, by the next one.
func TestTheAlertGoesOut(t *testing.T) {
	row(t)
	t.Parallel()
	const (
		again = "rota: attempt 1 of a run of job again was given up"
		once  = "rota: a run of job once was lost"
	)
	inbox := NewInbox(t)
	ledger := NewLedger(t)
	c := Start(t, Config{Binary: binary, Flags: idle, Jobs: map[string]job.Spec{
		"again": {Shell: ledger.Shell("sleep 3"), Notify: inbox.Notify()},
		"once":  {Shell: ledger.Shell("sleep 3"), Notify: inbox.Notify(), Delivery: job.AtMostOnce},
	}})
	// One round: a worker dies with a run of each job.
	round := func(worker string) (ran map[string]string) {
		doomed := c.AddWorker(worker)
		ran = make(map[string]string)
		for _, name := range []string{"again", "once"} {
			v, _, err := c.Client.Submit(t.Context(), name, api.RunRequest{})
			if err != nil {
				t.Fatal(err)
			}
			ran[name] = v.ID
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
	Await(t, 40*time.Second, "both are told", func() bool { return len(inbox.About(again)) > 0 && len(inbox.About(once)) > 0 })
	t.Logf("told after %v", time.Since(killed).Round(10*time.Millisecond))
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
	Await(t, 40*time.Second, "it is about to be told", func() bool { return inbox.Asked() > 0 })
	c.Leader().Kill()
	inbox.Hang(false)
	Await(t, 40*time.Second, "the next leader tells both", func() bool { return len(inbox.About(again)) > 1 && len(inbox.About(once)) > 1 })
	if text := inbox.About(again)[1]; !strings.Contains(text, "run: again/"+ran["again"]) || !strings.Contains(text, "worker w3 was lost") {
		t.Errorf("the message is:\n%s", text)
	}
	c.AddWorker("w4")
	Await(t, 40*time.Second, "the run succeeds elsewhere", func() bool {
		return c.Recorder.Runs("again")[ran["again"]].State == job.Succeeded
	})
	for _, n := range c.Replicas() {
		if !n.Running() {
			n.Start()
			n.WaitReady()
		}
	}
	c.Check(ledger.Effects, nil, func(j *history.Job) { j.MayFail = true })
}
