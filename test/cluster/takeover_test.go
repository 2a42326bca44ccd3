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

	for _, way := range []struct {
		name string
		end  func() *Node
		most time.Duration
	}{
		{"nothing is done", func() *Node { return nil }, provenDeath}, // what the machine does by itself at that rate
		{"the leader is asked to stop", func() *Node {
			n := c.Leader()
			n.Signal(syscall.SIGTERM)
			return n
		}, provenDeath},
		{"the leader is killed", func() *Node {
			n := c.Leader()
			Await(t, 20*time.Second, "etcd is led by another replica", func() bool { return c.StoreLeader() != n })
			n.Kill()
			return n
		}, provenDeath},
		{"the replica whose etcd member leads is killed", func() *Node {
			n := c.StoreLeader()
			n.Kill()
			return n
		}, electionTTL}, // etcd elects first
	} {
		var gaps []time.Duration
		for range times {
			at := time.Now()
			ended := way.end()
			Let(8 * time.Second) // longer than a lease would have to be waited for
			gaps = append(gaps, longestGap(sink.Requests(), at, time.Now()))
			if ended == nil {
				continue
			}
			ended.Await(30 * time.Second)
			ended.Start()
			c.WaitReady()
			Let(4 * time.Second) // two forced takeovers are some time apart
		}
		slices.Sort(gaps)
		t.Logf("%s: nothing begins for %v (median), %v (worst of %d)", way.name, gaps[len(gaps)/2], gaps[len(gaps)-1], len(gaps))
		if best := gaps[0]; best > way.most {
			t.Errorf("%s: nothing begins for %v at best: a lease was waited for", way.name, best)
		}
	}
	c.Check(sink.Requests, nil, nil)
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
