package cluster

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
)

// only returns the labels that make a job's runs execute on the worker with that name.
func only(name string) map[string]string { return map[string]string{"for": name} }

// idle returns the flags of a replica that executes no runs.
func idle(string) []string { return []string{"--worker-enabled=false"} }

// TestWorkerKilledInTheMiddle kills a worker while it executes. Its runs are retried or lost, as the job says, long before its
// lease expires. Its processes do not outlive it, even those that left their group and their session.
func TestWorkerKilledInTheMiddle(t *testing.T) {
	slow(t)
	t.Parallel()
	// Unique arguments, so that the test finds these processes under any parent.
	mark := fmt.Sprintf("1000.%09d", rand.IntN(1e9))
	tree := "sleep " + mark + "1 & (setsid sh -c 'setsid sleep " + mark + "2 & sleep " + mark + "3' &) ; sleep 30 & wait $!"
	ledger := NewLedger(t)
	c := Start(t, Config{Binary: binary, Flags: idle, Jobs: map[string]job.Spec{
		"again": {Shell: ledger.Shell(tree), KillGrace: job.Duration(time.Second)},
		"once":  {Shell: ledger.Shell(tree), KillGrace: job.Duration(time.Second), Delivery: job.AtMostOnce},
	}})
	doomed := c.AddWorker("w1")
	for _, name := range []string{"again", "once"} {
		if _, _, err := c.Client.Submit(t.Context(), name, api.RunRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	const sleepers = 2 * 4 // the list also has the shell that waits for each sleep
	Await(t, 20*time.Second, "both trees stand", func() bool { return len(Processes(t, "sleep "+mark)) >= sleepers })
	c.Recorder.Sync()
	for _, name := range []string{"again", "once"} {
		if r := onlyRun(t, c, name); r.State != job.Running || r.Worker != "w1" || r.Attempt != 1 {
			t.Fatalf("run of %s before the fault: got %s on %q attempt %d, want running on w1", name, r.State, r.Worker, r.Attempt)
		}
	}
	c.AddWorker("w2")
	Let(2 * time.Second) // the leader looks for new workers twice a second, and can prove only the death of a connected one

	killed := time.Now()
	doomed.Kill()
	var left []string
	Within(5*time.Second, func() bool {
		// The next attempt may have started already, with its own processes.
		left = Processes(t, "sleep "+mark)
		return len(left) == 0 || onlyRun(t, c, "again").Attempt > 1
	})
	if len(left) > 0 && onlyRun(t, c, "again").Attempt == 1 {
		t.Errorf("processes of the killed worker live on: %q", left)
	}
	t.Logf("processes gone after %v", time.Since(killed).Round(10*time.Millisecond))

	Await(t, 40*time.Second, "the run is tried again elsewhere", func() bool {
		r := onlyRun(t, c, "again")
		return r.State == job.Running && r.Attempt == 2
	})
	took := since(c, killed, "again", func(r job.Run) bool { return r.Attempt == 2 })
	if t.Logf("tried again after %v", took.Round(10*time.Millisecond)); took > provenDeath {
		t.Errorf("the run was tried again after %v: the worker's lease was waited for, though its process was proven dead", took)
	}
	r := onlyRun(t, c, "again")
	if r.Worker != "w2" || len(r.Attempts) != 1 || r.Attempts[0].State != job.Lost || r.Token <= r.Attempts[0].Token {
		t.Errorf("second attempt: got %+v after %+v, want one on w2 with a higher token after one that was lost", r.Token, r.Attempts)
	}
	Await(t, 20*time.Second, "the other run is lost", func() bool { return onlyRun(t, c, "once").State == job.Lost })
	if r := onlyRun(t, c, "once"); r.Attempt != 1 || r.Reason == "" {
		t.Errorf("run that may be delivered once: got attempt %d, reason %q, want the first, and a reason", r.Attempt, r.Reason)
	}

	// The killed worker starts again. It must not report or execute its earlier attempts.
	doomed.Start()
	doomed.WaitReady()
	for _, name := range []string{"again"} {
		r := onlyRun(t, c, name)
		if _, err := c.Client.Cancel(t.Context(), r.Name(), "the test is over"); err != nil {
			t.Errorf("cancel %s: %v", r.Name(), err)
		}
	}
	c.Check(ledger.Effects, nil, func(j *history.Job) { j.MayFail = true })
	if n := len(ledger.Effects()); n != 3 {
		t.Errorf("%d executions, want two of the one and one of the other: %+v", n, ledger.Effects())
	}
	if !Within(5*time.Second, func() bool { return len(Processes(t, "sleep "+mark)) == 0 }) {
		t.Errorf("processes of the canceled run live on: %q", Processes(t, "sleep "+mark))
	}
}

// since returns the time from at until the recorder first saw the job's only run in a state that as accepts.
func since(c *Cluster, at time.Time, name string, as func(job.Run) bool) time.Duration {
	c.t.Helper()
	for _, v := range c.Recorder.Versions() {
		if r, ok := decode[job.Run](v, "runs/"+name+"/"); ok && as(r) {
			return v.Seen.Sub(at)
		}
	}
	c.t.Fatalf("the run of %s never was as it is to be", name)
	return 0
}

// onlyRun returns the only run of a job.
func onlyRun(t *testing.T, c *Cluster, name string) (run job.Run) {
	t.Helper()
	Await(t, 5*time.Second, "job "+name+" has a run", func() bool {
		runs := c.Recorder.Runs(name)
		if len(runs) > 1 {
			t.Fatalf("job %s has %d runs, want 1", name, len(runs))
		}
		for _, r := range runs {
			run = r
		}
		return len(runs) == 1
	})
	return run
}

// TestReplicaKilledWhileItExecutes kills a replica that leads, is a member of the store, and executes a run. The same must hold
// for it as for a worker.
func TestReplicaKilledWhileItExecutes(t *testing.T) {
	slow(t)
	t.Parallel()
	ledger := NewLedger(t)
	c := Start(t, Config{Binary: binary, Jobs: map[string]job.Spec{
		"long": {Shell: ledger.Shell("sleep 4"), Every: job.Duration(time.Second), Overlap: job.OverlapAllow, Missed: job.MissedAll},
	}})
	leader := c.Leader()
	var doomed []string
	Await(t, 30*time.Second, "the leader executes something", func() bool {
		for id, r := range c.Recorder.Runs("long") {
			if r.State == job.Running && r.Worker == leader.Name {
				doomed = append(doomed, id)
			}
		}
		return len(doomed) > 0
	})
	leader.Kill()
	Await(t, 60*time.Second, "what it executed has been tried again", func() bool {
		runs := c.Recorder.Runs("long")
		return !slices.ContainsFunc(doomed, func(id string) bool { return !runs[id].State.Terminal() })
	})
	tried := 0
	for _, id := range doomed {
		switch r := c.Recorder.Runs("long")[id]; {
		case r.State != job.Succeeded:
			t.Errorf("run %s: got %s (%s), want succeeded", id, r.State, r.Reason)
		case r.Attempt > 1:
			tried++
		}
	}
	if tried == 0 {
		t.Errorf("of the runs %s none was tried again: the fault took no effect", strings.Join(doomed, ", "))
	}
	leader.Start()
	leader.WaitReady()
	c.Check(ledger.Effects, nil, nil)
}
