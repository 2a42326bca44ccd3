package cluster

import (
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
)

// TestLeaderDiesBeforeADeadline kills the leader in the second before the finish_by of a run that does not end. The next leader
// reports the late slot once. A job that fails each second meanwhile sends one message, and one when it succeeds again.
func TestLeaderDiesBeforeADeadline(t *testing.T) {
	slow(t)
	t.Parallel()
	const (
		late   = "rota: job slow is late"
		failed = "rota: job fails failed"
		again  = "rota: job fails succeeds again"
	)
	inbox := NewInbox(t)
	ledger := NewLedger(t)
	slot := time.Now().Add(startTime).Truncate(time.Second).Add(time.Second)
	until := slot.Add(25 * time.Second)
	c := Start(t, Config{Binary: binary, Flags: idle, Jobs: map[string]job.Spec{
		"slow": {At: []time.Time{slot}, FinishBy: "10s", Shell: ledger.Shell("sleep 30"), Notify: inbox.NotifyOnce()},
		"fails": {
			Every: job.Duration(time.Second), End: &until, Notify: inbox.NotifyOnce(),
			Shell: ledger.Shell(`case "$ROTA_SLOT" in *` + until.Add(-2*time.Second).UTC().Format("04:05Z") + `|*` +
				until.Add(-time.Second).UTC().Format("04:05Z") + `) ;; *) exit 1;; esac`),
		},
	}})
	c.AddWorker("w1")
	Await(t, startTime+20*time.Second, "the slow run is at work", func() bool { return onlyState(c, "slow") == job.Running })
	Await(t, 20*time.Second, "the failure is reported", func() bool { return len(inbox.About(failed)) > 0 })
	Let(time.Until(slot.Add(9500 * time.Millisecond)))
	if texts := inbox.About(late); len(texts) > 0 {
		t.Fatalf("it was late before its deadline:\n%s", texts[0])
	}
	killed := c.Leader()
	killed.Kill()
	if now := time.Now(); now.After(slot.Add(10 * time.Second)) {
		t.Fatalf("the leader died %v after the deadline", now.Sub(slot.Add(10*time.Second)))
	}
	Await(t, 40*time.Second, "the next leader reports the late slot", func() bool { return len(inbox.About(late)) > 0 })
	if text := inbox.About(late)[0]; !strings.Contains(text, "run: slow/"+slot.UTC().Format(time.RFC3339)) {
		t.Errorf("the message is:\n%s", text)
	}
	c.Leader().Kill() // the third leader has nothing to report either
	killed.Start()
	killed.WaitReady()
	Await(t, 60*time.Second, "the job succeeds again", func() bool { return len(inbox.About(again)) > 0 })
	Await(t, 60*time.Second, "the slow run ends", func() bool { return onlyState(c, "slow") == job.Succeeded })
	slotText := slot.UTC().Format(time.RFC3339)
	if out, code := Command(t, binary, "explain", "slow", slotText, "--server="+killed.URL); code != 0 || !strings.Contains(out, "It was late: not finished by") {
		t.Errorf("explain (exit code %d) does not name the deadline:\n%s", code, out)
	}
	c.startAll()
	c.Check(ledger.Effects, nil, func(j *history.Job) { j.MayFail = true })
	for _, title := range []string{late, failed, again} {
		if n := len(inbox.About(title)); n != 1 {
			t.Errorf("%d messages %q, want 1", n, title)
		}
	}
	failures := 0
	for _, r := range c.Recorder.Runs("fails") {
		if r.State == job.Failed {
			failures++
		}
	}
	if failures < 10 {
		t.Errorf("the job failed %d times only: one message proves nothing", failures)
	}
}

// onlyState returns the state of the only run of a job; "" if there is none.
func onlyState(c *Cluster, name string) (s job.State) {
	for _, r := range c.Recorder.Runs(name) {
		s = r.State
	}
	return s
}
