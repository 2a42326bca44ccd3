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
	for _, way := range []takeover{
		{name: "nothing is done", most: provenDeath}, // for comparison: gaps that the machine causes
		{
			name: "the leader is asked to stop", most: provenDeath,
			whom: (*Cluster).Leader, end: func(_ *Cluster, n *Node) { n.Signal(syscall.SIGTERM) },
		},
		{name: "the leader is killed", most: provenDeath, end: func(_ *Cluster, n *Node) { n.Kill() }, whom: func(c *Cluster) *Node {
			n := c.Leader()
			Await(c.t, 20*time.Second, "etcd is led by another replica", func() bool { return c.StoreLeader() != n })
			return n
		}},
		{
			name: "the replica whose etcd member leads is killed", most: electionTTL, // etcd must elect first
			whom: (*Cluster).StoreLeader, end: func(c *Cluster, n *Node) { n.Kill(); c.awaitStoreLeader(n) }, elects: true,
		},
	} {
		// Each has a cluster of its own: the judge needs memory for each run since the start.
		t.Run(way.name, func(t *testing.T) { way.measure(t, fromEnv("ROTA_TAKEOVERS", 1), fromEnv("ROTA_TAKEOVER_RATE", 100)) })
	}
}

// takeover is one way in which a replica ends.
type takeover struct {
	name   string
	most   time.Duration          // the shortest gap must not be longer
	whom   func(c *Cluster) *Node // nil: no replica ends
	end    func(c *Cluster, n *Node)
	elects bool // end returns when etcd has elected
}

// measure ends replicas of a cluster some times, while it executes a number of runs each second.
func (way *takeover) measure(t *testing.T, times, rate int) {
	sink := NewSink(t)
	jobs := sink.Posts(rate, job.Spec{Jitter: job.Duration(time.Second), Overlap: job.OverlapAllow})
	c := Start(t, Config{Binary: binary, Jobs: jobs, Flags: func(string) []string {
		return []string{"--worker-enabled=false", "--dispatch-arm-ahead=" + cmp.Or(os.Getenv("ROTA_TAKEOVER_AHEAD"), "0s"), "--history-success=3"}
	}})
	c.AddWorker("w1", "--worker-capacity=1000")
	c.AddWorker("w2", "--worker-capacity=1000")
	Await(t, 30*time.Second, "jobs run", func() bool { return len(sink.Requests()) > 2*rate })

	var gaps, elections, own, decided []time.Duration // own: without etcd's election; decided: until another leader decides
	for range times {
		var ended *Node
		if way.whom != nil {
			ended = way.whom(c)
		}
		leader := c.Leader()
		view, err := leader.Client.Cluster(t.Context())
		if err != nil || view.Leader == nil {
			t.Fatalf("%s does not report its term: %v", leader.Name, err)
		}
		rev, at := c.Recorder.Rev(), time.Now()
		if ended != nil {
			way.end(c, ended)
		}
		elected := time.Since(at)
		Let(8 * time.Second) // longer than a lease takes to expire
		gap := longestGap(sink.Requests(), at, time.Now())
		gaps = append(gaps, gap)
		if way.elects {
			elections, own = append(elections, elected), append(own, gap-elected)
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
	t.Logf("%s: nothing begins for %s", way.name, spread(gaps))
	if way.elects {
		t.Logf("of these, etcd's members are without a leader for %s, and nothing begins for %s longer than that", spread(elections), spread(own))
	}
	if len(decided) > 0 {
		t.Logf("the first decision of the next leader is seen after %s", spread(decided))
	}
	if best := slices.Min(gaps); best > way.most {
		t.Errorf("%s: nothing begins for %v at best: a lease was waited for", way.name, best)
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
