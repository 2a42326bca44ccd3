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

// TestTakeover measures for how long nothing begins when a replica ends, under a steady load and with nothing armed ahead by default, and
// prints it, beside the same of a time in which no replica ends. It asserts no more of these times than that a lease had not to be
// waited for, since the rest is the machine's; the judge looks at what ran. ROTA_TAKEOVERS says how often each is done,
// ROTA_TAKEOVER_RATE how many runs a second there are, and ROTA_TAKEOVER_AHEAD how long before their time they are armed.
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

	var elections []time.Duration // of etcd
	for _, way := range []struct {
		name string
		whom func() *Node
		end  func(n *Node)
		most time.Duration
	}{
		{"nothing is done", func() *Node { return nil }, nil, provenDeath}, // what the machine does by itself at that rate
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
		}, electionTTL}, // etcd elects first
	} {
		var gaps, own, decided []time.Duration // own: without etcd's election; decided: until another leader decides
		for range times {
			ended := way.whom()
			leader := c.Leader()
			view, err := leader.Client.Cluster(t.Context())
			if err != nil || view.Leader == nil {
				t.Fatalf("%s does not tell of its term: %v", leader.Name, err)
			}
			rev, at := c.Recorder.Rev(), time.Now()
			if ended != nil {
				way.end(ended)
			}
			Let(8 * time.Second) // longer than a lease would have to be waited for
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
			Let(4 * time.Second) // two forced takeovers are some time apart
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

// spread tells of some durations.
func spread(list []time.Duration) string {
	sorted := slices.Sorted(slices.Values(list))
	return fmt.Sprintf("%v (median), %v (worst of %d)", sorted[len(sorted)/2].Round(time.Millisecond), sorted[len(sorted)-1].Round(time.Millisecond), len(sorted))
}

// awaitStoreLeader waits until a member other than that of a replica that has ended says that another one leads etcd.
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

// longestGap is the longest time from from to to in which nothing arrives.
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
