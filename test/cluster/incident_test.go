package cluster

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// tellIn is how long after a fault, or after its end, every surviving replica reports it.
const tellIn = 5 * time.Second

// TestIncidentsAreTold stops, kills and restarts replicas, and takes away the majority. Within five seconds, each replica that is
// left says what happened, in sentences that agree with the recorded faults to the second.
func TestIncidentsAreTold(t *testing.T) {
	row(t)
	t.Parallel()
	sink := NewSink(t)
	c := Start(t, Config{Binary: binary, Jobs: map[string]job.Spec{
		"ping": {Every: job.Duration(time.Second), HTTP: &job.HTTP{URL: sink.URL(), Method: "POST"}},
	}})
	Await(t, 20*time.Second, "jobs run", func() bool { return len(sink.Requests()) > 3 })

	leader := c.Leader()
	follower := c.others(leader)[0]
	froze := time.Now()
	follower.Stop()
	c.told(c.others(follower), follower.Name+" has not answered since (T)", froze)
	for _, n := range c.others(follower) {
		v := c.view(n)
		if got := missing(v); got != follower.Name || v.Tolerated == nil || *v.Tolerated != 0 {
			t.Errorf("%s: missing %s, tolerated %v, want %s and 0", n.Name, got, v.Tolerated, follower.Name)
		}
	}
	if out, code := Command(t, binary, "status", "--server="+leader.URL); code != 7 || !strings.Contains(out, "no further loss is tolerated") {
		t.Errorf("rota status: exit code %d\n%s", code, out)
	}
	Await(t, time.Until(froze.Add(8*time.Second))+time.Second, "eight seconds pass", func() bool { return time.Since(froze) > 8*time.Second })
	thawed := time.Now()
	follower.Cont()
	c.told(c.Replicas(), follower.Name+" did not answer from (T) to (T)", froze, thawed)
	c.WaitReady()

	died := time.Now()
	leader.Kill()
	c.told(c.others(leader), leader.Name+" died at (T); q[0-9] took over (?:in [0-9]+ ms|at (?:T), .* later|within a second)", died)
	c.told(c.others(leader), "2 of 3 members are present; no further loss is tolerated")
	leader.Start()
	leader.WaitReady()
	back := time.Now()
	c.told(c.Replicas(), leader.Name+" died at (T), and was back at (T)", died, back)
	c.told(c.Replicas(), "All 3 members are present")

	leader = c.Leader()
	gone := c.others(leader)
	lost := time.Now()
	for _, n := range gone {
		n.Kill()
	}
	over := c.Outage()
	c.told([]*Node{leader}, "The majority is lost since (T)", lost)
	if v := c.view(leader); v.Tolerated == nil || *v.Tolerated != -1 {
		t.Errorf("%s tolerates %v more losses, want -1", leader.Name, v.Tolerated)
	}
	Await(t, 30*time.Second, "nobody leads", func() bool { return c.view(leader).Leader == nil && time.Since(lost) > 12*time.Second })
	for _, n := range gone {
		n.Start()
	}
	c.WaitReady()
	var regained time.Time
	Await(t, 20*time.Second, "somebody leads", func() bool {
		l := c.view(leader).Leader
		if l != nil {
			regained = l.Since
		}
		return l != nil
	})
	over()
	c.told(c.Replicas(), "The majority was lost at (T) and regained at T", lost)
	c.told(c.Replicas(), "No leader from T to (T)", regained)
	Await(t, 20*time.Second, "rota runs shows the missed slots", func() bool {
		out, code := Command(t, binary, "runs", "ping", "--server="+leader.URL)
		return code == 0 && strings.Contains(out, "of ping did not run: missed")
	})
	Await(t, 20*time.Second, "jobs run on", func() bool {
		r := sink.Requests()
		return len(r) > 0 && r[len(r)-1].Arrived.After(regained)
	})
}

// others returns the replicas except one.
func (c *Cluster) others(except *Node) (list []*Node) {
	for _, n := range c.Replicas() {
		if n != except {
			list = append(list, n)
		}
	}
	return list
}

// view returns what a replica knows of the cluster.
func (c *Cluster) view(n *Node) (v api.ClusterView) {
	c.t.Helper()
	if !Within(tellIn, func() (ok bool) {
		got, err := n.Client.Cluster(c.t.Context())
		v = got
		return err == nil
	}) {
		c.t.Fatalf("%s does not answer", n.Name)
	}
	return v
}

func missing(v api.ClusterView) string {
	var names []string
	for _, m := range v.Members {
		if m.State != "present" {
			names = append(names, m.Name)
		}
	}
	return strings.Join(names, " ")
}

// told waits until each of the replicas says a sentence. In the pattern, T stands for a time, and each (T) for one that must be
// that of the fault.
func (c *Cluster) told(replicas []*Node, pattern string, times ...time.Time) {
	c.t.Helper()
	const clock = `[0-9]{2}:[0-9]{2}:[0-9]{2}Z`
	re := regexp.MustCompile(regexp.MustCompile(`\bT\b`).ReplaceAllString(pattern, clock))
	began := time.Now()
	for _, n := range replicas {
		var last string
		if !Within(tellIn, func() bool {
			v, err := n.Client.Incident(c.t.Context(), time.Time{})
			last = fmt.Sprint(err, "\n", strings.Join(v.Sentences, "\n"))
			for _, m := range re.FindAllStringSubmatch(last, -1) {
				if c.agree(m[1:], times) {
					return true
				}
			}
			return false
		}) {
			c.t.Errorf("after %v, %s does not say %q with %v: it says %s", time.Since(began), n.Name, pattern, times, last)
		}
	}
	c.t.Logf("told after %v: %s", time.Since(began).Round(10*time.Millisecond), pattern)
}

// agree reports whether each of the texts is the time of a fault, to the second.
func (c *Cluster) agree(texts []string, times []time.Time) bool {
	for i, at := range times {
		day := at.UTC().Format(time.DateOnly)
		got, err := time.Parse("2006-01-02 15:04:05Z", day+" "+texts[i])
		if err != nil || at.Sub(got).Abs() > 1500*time.Millisecond {
			return false
		}
	}
	return true
}
