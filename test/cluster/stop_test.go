package cluster

import (
	"syscall"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestAllStopAtOnce asks all members of an embedded cluster to stop while one of them executes a run, as `docker compose down`
// does. The idle members stay as the quorum of the store. So the busy member keeps its session until the run has ended.
func TestAllStopAtOnce(t *testing.T) {
	row(t)
	t.Parallel()
	ledger := NewLedger(t)
	c := Start(t, Config{
		Binary: binary, Jobs: map[string]job.Spec{"long": {Shell: ledger.Shell("sleep 12")}},
		Flags: func(string) []string { return []string{"--worker-shutdown-grace=20s"} },
	})
	if _, _, err := c.Client.Submit(t.Context(), "long", api.RunRequest{}); err != nil {
		t.Fatal(err)
	}
	Await(t, 20*time.Second, "the run executes", func() bool { return onlyRun(t, c, "long").State == job.Running })
	over := c.Outage()
	began := time.Now()
	for _, n := range c.Replicas() {
		n.Signal(syscall.SIGTERM)
	}
	for _, n := range c.Replicas() {
		n.Await(30 * time.Second)
	}
	t.Logf("ended %v after being asked to", time.Since(began).Round(10*time.Millisecond))
	for _, n := range c.Replicas() {
		n.Start()
	}
	c.WaitReady()
	over()
	Await(t, 20*time.Second, "the run has ended", func() bool { return onlyRun(t, c, "long").State.Terminal() }) // as the recorder sees it
	if r := onlyRun(t, c, "long"); r.State != job.Succeeded || r.Attempt != 1 {
		t.Errorf("got %s in attempt %d (%s), want succeeded in the first", r.State, r.Attempt, r.Reason)
	}
	for _, e := range ledger.Effects() {
		if !e.Ended.IsZero() && e.Ended.Before(began) {
			t.Error("the job ended before all members were asked to stop: the fault took no effect")
		}
	}
	c.Check(ledger.Effects, nil, nil)
}
