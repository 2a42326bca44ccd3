package cluster

import (
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestIncidentsAreTold freezes, kills, stops and restarts replicas, and takes away the majority. Within five seconds, each replica that is
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
	follower := c.Others(leader)[0]
	froze := time.Now()
	follower.Stop()
	c.Told(c.Others(follower), follower.Name+" has not answered since (T)", froze)
	c.Missed(c.Others(follower), follower, froze)
	if out, code := Command(t, binary, "status", "--server="+leader.URL); code != 7 || !strings.Contains(out, "no further loss is tolerated") {
		t.Errorf("rota status: exit code %d\n%s", code, out)
	}
	Await(t, time.Until(froze.Add(8*time.Second))+time.Second, "eight seconds pass", func() bool { return time.Since(froze) > 8*time.Second })
	thawed := time.Now()
	follower.Cont()
	c.Told(c.Replicas(), follower.Name+" did not answer from (T) to (T)", froze, thawed)
	c.WaitReady()

	leader = c.Leader() // on a busy machine, a member that resumes can cost the leader its session
	died := time.Now()
	leader.Kill()
	c.Told(c.Others(leader), leader.Name+" died at (T); q[0-9] took over (?:in [0-9]+ ms|at (?:T), .* later|within a second)", died)
	c.Missed(c.Others(leader), leader, died)
	c.Told(c.Others(leader), "2 of 3 members are present; no further loss is tolerated")
	leader.Start()
	leader.WaitReady()
	back := time.Now()
	c.Told(c.Replicas(), leader.Name+" died at (T), and was back at (T)", died, back)
	c.Told(c.Replicas(), "All 3 members are present")

	leader = c.Leader()
	for _, n := range []*Node{c.Others(leader)[0], leader} {
		took := ""
		if n == leader {
			took = "; q[0-9] took over within a second"
		}
		ended := time.Now()
		n.Terminate()
		c.Told(c.Others(n), n.Name+" was stopped at (T)"+took, ended)
		c.Missed(c.Others(n), n, ended)
		n.Start()
		n.WaitReady()
		c.Told(c.Replicas(), n.Name+" was stopped at (T), and was back at (T)"+took, ended, time.Now())
	}
	// The observers hear of the end of an outage within a second. A loss that begins before counts as the same outage.
	Let(2 * time.Second)

	leader = c.Leader()
	gone := c.Others(leader)
	lost := time.Now()
	for _, n := range gone {
		n.Kill()
	}
	over := c.Outage()
	c.Told([]*Node{leader}, "Fewer than the majority have answered since (T)", lost)
	if v := c.View(leader); v.Tolerated == nil || *v.Tolerated != -1 {
		t.Errorf("%s tolerates %v more losses, want -1", leader.Name, v.Tolerated)
	}
	Await(t, 30*time.Second, "nobody leads", func() bool { return c.View(leader).Leader == nil && time.Since(lost) > 12*time.Second })
	for _, n := range gone {
		n.Start()
	}
	c.WaitReady()
	var regained time.Time
	Await(t, 20*time.Second, "somebody leads", func() bool {
		l := c.View(leader).Leader
		if l != nil {
			regained = l.Since
		}
		return l != nil
	})
	over()
	c.Told(c.Replicas(), "Fewer than the majority answered from (T) to T", lost)
	c.Told(c.Replicas(), "No leader from T to (T)", regained)
	Await(t, 20*time.Second, "rota runs shows the missed slots", func() bool {
		out, code := Command(t, binary, "runs", "ping", "--server="+leader.URL)
		return code == 0 && strings.Contains(out, "of ping did not run: missed")
	})
	Await(t, 20*time.Second, "jobs run on", func() bool {
		r := sink.Requests()
		return len(r) > 0 && r[len(r)-1].Arrived.After(regained)
	})
}
