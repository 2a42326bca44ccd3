package cluster

import (
	"fmt"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
)

// TestCallsAreLinearizable has clients of each replica submit the same runs, read and cancel them, and pause a job, while the
// leader is killed and a follower is paused. The answers are linearizable, each accepted run exists once, and no other run
// exists.
func TestCallsAreLinearizable(t *testing.T) {
	row(t)
	t.Parallel()
	sink := NewSink(t)
	sink.Delay(150 * time.Millisecond)
	post := &job.HTTP{URL: sink.URL(), Method: "POST"}
	c := Start(t, Config{Binary: binary, Jobs: map[string]job.Spec{
		ClientsSubmit: {HTTP: post, Overlap: job.OverlapAllow}, ClientsPause: {HTTP: post},
		"tick": {HTTP: post, Every: job.Duration(time.Second), Missed: job.MissedAll},
	}})
	stop := c.Clients(6, seeded(t))
	defer stop()

	Let(3 * time.Second)
	killed := c.Leader()
	killed.Kill()
	if next := c.Leader(); next == killed {
		t.Errorf("%s leads again: the fault took no effect", killed.Name)
	}
	Let(3 * time.Second)
	killed.Start()
	c.WaitReady()

	// The killed replica is back, and leads neither rota nor etcd. If a member that leads etcd were paused for this long, all
	// nodes would lose their leases.
	follower := killed
	Await(t, 20*time.Second, "etcd is led by another replica", func() bool { return c.StoreLeader() != follower })
	if c.Leader() == follower {
		t.Errorf("%s leads again, though nothing happened to the one after it", follower.Name)
	}
	before := open(c)
	follower.Stop()
	Let(electionTTL + 3*time.Second)
	follower.Cont()
	c.WaitReady()
	Let(3 * time.Second)
	Within(time.Minute, func() bool { return len(rareCalls(c)) == 0 })
	stop()
	if after := open(c); after <= before {
		t.Errorf("%d calls were not answered before a replica was paused, and %d after: the fault took no effect", before, after)
	}
	if rare := rareCalls(c); len(rare) > 0 {
		t.Errorf("fewer than 5 calls of %q: there is no load", rare)
	}
	c.Recovery = 2 * electionTTL
	c.Check(sink.Requests, nil, func(j *history.Job) { j.Tolerance = electionTTL })
}

// rareCalls lists the answers that clients got fewer than five times.
func rareCalls(c *Cluster) (rare []string) {
	counts := make(map[string]int)
	for _, call := range c.Calls.All() {
		counts[fmt.Sprintf("%s %s", call.Kind, call.Answer)]++
	}
	for _, must := range []string{"submit done", "run done", "cancel done", "cancel ended", "pause done", "resume done", "put done", "put unmet", "delete done",
		"delete absent", "retry done", "retry early"} {
		if counts[must] < 5 {
			rare = append(rare, must)
		}
	}
	return rare
}

// open counts the calls without a definite answer.
func open(c *Cluster) (n int) {
	for _, call := range c.Calls.All() {
		if call.Answer == history.Open {
			n++
		}
	}
	return n
}
