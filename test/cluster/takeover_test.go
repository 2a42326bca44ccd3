package cluster

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
)

// TestTakeover measures the longest time without the start of a run after a replica ends, under a steady load. By default
// nothing is armed ahead. It prints the same measurement without a fault for comparison. It asserts only that no lease had to
// expire, because the rest depends on the machine; the judge checks the runs. ROTA_TAKEOVERS is the number of takeovers,
// ROTA_TAKEOVER_RATE the runs a second, and ROTA_TAKEOVER_AHEAD how long runs are armed ahead.
func TestTakeover(t *testing.T) {
	measures(t)
	t.Parallel()
	times, rate := fromEnv("ROTA_TAKEOVERS", 1), fromEnv("ROTA_TAKEOVER_RATE", 100)
	sink := NewSink(t)
	jobs := make(map[string]job.Spec)
	for i := range rate {
		jobs[fmt.Sprintf("post-%04d", i)] = job.Spec{
			Every: job.Duration(time.Second), Jitter: job.Duration(time.Second), Missed: job.MissedAll, Overlap: job.OverlapAllow,
			HTTP: &job.HTTP{URL: sink.URL(), Method: "POST"},
		}
	}
	c := Start(t, Config{Binary: binary, Jobs: jobs, Flags: func(string) []string {
		return []string{"--worker-enabled=false", "--dispatch-arm-ahead=" + cmp.Or(os.Getenv("ROTA_TAKEOVER_AHEAD"), "0s"), "--history-success=3"}
	}})
	c.AddWorker("w1", "--worker-capacity=1000")
	c.AddWorker("w2", "--worker-capacity=1000")
	Await(t, 30*time.Second, "jobs run", func() bool { return len(sink.Requests()) > 2*rate })

	var elections []time.Duration // times of etcd's elections
	for _, way := range []struct {
		name string
		whom func() *Node
		end  func(n *Node)
		most time.Duration
	}{
		{"nothing is done", func() *Node { return nil }, nil, provenDeath}, // baseline: gaps that the machine causes
		{"the leader is asked to stop", c.Leader, func(n *Node) { n.Signal(syscall.SIGTERM) }, provenDeath},
		{"the leader is killed", func() *Node {
			n := c.Leader()
			Await(t, 20*time.Second, "etcd is led by another replica", func() bool { return c.StoreLeader() != n })
			return n
		}, (*Node).Kill, provenDeath},
		{"the replica whose etcd member leads is killed", c.StoreLeader, func(n *Node) {
			began := time.Now()
			n.Kill()
			c.awaitStoreLeader(n)
			elections = append(elections, time.Since(began))
		}, electionTTL}, // etcd must elect first
	} {
		var gaps, own, decided []time.Duration // own: without etcd's election; decided: until another leader decides
		for range times {
			ended := way.whom()
			leader := c.Leader()
			view, err := leader.Client.Cluster(t.Context())
			if err != nil || view.Leader == nil {
				t.Fatalf("%s does not report its term: %v", leader.Name, err)
			}
			rev, at := c.Recorder.Rev(), time.Now()
			if ended != nil {
				way.end(ended)
			}
			Let(8 * time.Second) // longer than a lease takes to expire
			gaps = append(gaps, longestGap(sink.Requests(), at, time.Now()))
			if n := len(elections); n > 0 {
				own = append(own, gaps[len(gaps)-1]-elections[n-1])
			}
			if ended == nil {
				continue
			}
			if ended == leader {
				decided = append(decided, firstWriteOfAnotherTerm(c, rev, view.Leader.Term).Seen.Sub(at))
			}
			ended.Await(30 * time.Second)
			ended.Start()
			c.WaitReady()
			Let(4 * time.Second) // the minimum time between two forced takeovers
		}
		slices.Sort(gaps)
		t.Logf("%s: nothing begins for %s", way.name, spread(gaps))
		if len(own) > 0 {
			t.Logf("of these, etcd's members are without a leader for %s, and nothing begins for %s longer than that", spread(elections), spread(own))
		}
		if len(decided) > 0 {
			t.Logf("the first decision of the next leader is seen after %s", spread(decided))
		}
		if best := gaps[0]; best > way.most {
			t.Errorf("%s: nothing begins for %v at best: a lease was waited for", way.name, best)
		}
	}
	c.Check(sink.Requests, nil, nil)
}

// spread formats the median and the maximum of durations.
func spread(list []time.Duration) string {
	sorted := slices.Sorted(slices.Values(list))
	return fmt.Sprintf("%v (median), %v (worst of %d)", sorted[len(sorted)/2].Round(time.Millisecond), sorted[len(sorted)-1].Round(time.Millisecond), len(sorted))
}

// awaitStoreLeader waits until a member other than that of the ended replica reports that it leads etcd.
func (c *Cluster) awaitStoreLeader(ended *Node) {
	c.t.Helper()
	// A poll with a deadline, faster than Await: the test measures this time.
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(poll / 10) {
		for _, n := range c.replicas {
			if n != ended && c.leadsStore(n) {
				return
			}
		}
	}
	c.t.Fatal("no member leads etcd")
}

// longestGap returns the longest time between from and to without an effect.
func longestGap(effects []history.Effect, from, to time.Time) (longest time.Duration) {
	last := from
	for _, e := range effects {
		if e.Arrived.After(from) && e.Arrived.Before(to) {
			longest = max(longest, e.Arrived.Sub(last))
			last = e.Arrived
		}
	}
	return max(longest, to.Sub(last))
}

func fromEnv(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}
