package cluster

import (
	"fmt"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
)

// TestLeaderKilledUnderLoad tests the main promise. Under two hundred jobs a second the leader is killed twice and stopped
// once, and every slot of every job runs once. A killed leader is replaced long before its lease expires.
func TestLeaderKilledUnderLoad(t *testing.T) {
	slow(t)
	sink, ledger := NewSink(t), NewLedger(t)
	sink.Delay(400 * time.Millisecond) // so that each process has requests under way when it dies
	jobs := make(map[string]job.Spec)
	every := job.Duration(time.Second)
	load := loadTime(t)
	end := time.Now().Add(startTime + load).Truncate(time.Second)
	for i := range 200 {
		spec := job.Spec{
			Every: every, End: &end, Missed: job.MissedAll, HTTP: &job.HTTP{URL: sink.URL(), Method: "POST", Body: "{{ .Slot }}"},
			Timeout: job.Duration(30 * time.Second),
		}
		if i%2 == 1 {
			spec.Overlap = job.OverlapAllow
		}
		jobs[fmt.Sprintf("post-%03d", i)] = spec
	}
	for i := range 4 {
		jobs[fmt.Sprintf("write-%d", i)] = job.Spec{Every: every, End: &end, Missed: job.MissedAll, Shell: ledger.Shell("")}
	}
	c := Start(t, Config{Binary: binary, Jobs: jobs})

	// calm is the time before the first fault, and from each fault to the next one.
	calm := load / 4
	Let(calm)
	if n := len(c.Recorder.Runs("")); n < 100*int(calm.Seconds()) {
		t.Fatalf("only %d runs in %v: there is no load", n, calm)
	}
	terms := 1
	var worst time.Duration
	for i, harm := range []func(*Node){(*Node).Kill, (*Node).Terminate, (*Node).Kill} {
		leader := c.Leader()
		killed := i != 1
		if killed { // keep etcd's own election out of the measurement
			Await(t, 20*time.Second, "etcd is led by another replica", func() bool { return c.StoreLeader() != leader })
		}
		busy := 0
		Await(t, 20*time.Second, "the leader executes something", func() bool { busy = executing(c, leader.Name); return busy > 0 })
		fell := time.Now()
		harm(leader)
		next := c.Leader()
		if next == leader {
			t.Fatalf("%s leads again: the fault took no effect", leader.Name)
		}
		terms++
		took := time.Since(fell)
		t.Logf("%s fell with %d attempts, %s leads after %v", leader.Name, busy, next.Name, took.Round(10*time.Millisecond))
		if killed {
			worst = max(worst, took)
		}
		leader.Start()
		Let(calm - min(calm, time.Since(fell)))
		c.WaitReady()
	}
	Let(time.Until(end))
	c.AwaitEnd(time.Minute)
	if worst > provenDeath {
		t.Errorf("where the leader was killed, another one led after %v: its lease was waited for, though its process was proven dead", worst)
	}
	if got := led(c); got < terms {
		t.Errorf("got %d terms in which runs were made, want at least %d: the faults took no effect", got, terms)
	}
	if lost(c) == 0 {
		t.Error("no attempt was lost where a leader was killed: the faults took no effect")
	}
	effects := append(sink.Requests(), ledger.Effects()...)
	c.Recovery = electionTTL
	c.Judge(effects, nil, func(j *history.Job) { j.Tolerance = electionTTL })
	reportLateness(t, effects)
}

// provenDeath is the most time that may pass, on a busy machine, until rota acts on the death of a process that it has proven
// dead. Without a proof, rota would wait for the lease. A lease is renewed every fifth of its TTL, so it would last for at
// least four fifths of its TTL.
const provenDeath = electionTTL / 2

// startTime is about the time that a cluster needs to start.
const startTime = 5 * time.Second

// executing counts the attempts that a worker executes. It asks the API, because the recorder may be later than the end of an
// attempt.
func executing(c *Cluster, worker string) (n int) {
	list, err := c.Client.Runs(c.t.Context(), client.RunFilter{States: []job.State{job.Running}, Limit: 1000}, "")
	if err != nil {
		return 0
	}
	for _, r := range list.Runs {
		if r.Worker == worker {
			n++
		}
	}
	return n
}

// lost counts the attempts whose worker was lost.
func lost(c *Cluster) (n int) {
	for _, r := range c.Recorder.Runs("") {
		n += r.LostAttempts()
	}
	return n
}

// led counts the terms in which slots were decided.
func led(c *Cluster) int {
	terms := make(map[int64]bool)
	for _, r := range c.Recorder.Runs("") {
		terms[r.Term] = true
	}
	return len(terms)
}

// reportLateness logs how late first attempts were.
func reportLateness(t *testing.T, effects []history.Effect) {
	var worst time.Duration
	first, late := 0, 0
	for _, e := range effects {
		slot, err := time.Parse(time.RFC3339, e.Run[len(e.Job)+1:])
		if err != nil || e.Attempt > 1 {
			continue
		}
		first++
		d := e.Arrived.Sub(slot)
		worst = max(worst, d)
		if d > time.Second {
			late++
		}
		if d < 0 {
			t.Errorf("%s was executed %v before its slot", e.Run, -d)
		}
	}
	t.Logf("%d first attempts, %d later than a second, the latest by %v", first, late, worst.Round(time.Millisecond))
}
