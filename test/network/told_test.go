package network

import (
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/cluster"
)

// TestACutOffReplicaIsTold cuts a follower and then the leader off from the other replicas. The test still reaches them. Each
// replica that is left says so in `status`, `events` and `incident`, in sentences that agree with the cut to the second.
func TestACutOffReplicaIsTold(t *testing.T) {
	seeded(t)
	lab := New(t, "q1", "q2", "q3")
	sink := cluster.NewSinkAt(t, lab.Gateway)
	c := cluster.StartOn(t, cluster.Config{Binary: rota, Jobs: map[string]job.Spec{
		"ping": {Every: job.Duration(time.Second), HTTP: &job.HTTP{URL: sink.URL(), Method: "POST"}},
	}}, cluster.Place{Hosts: lab.Hosts()})
	cluster.Await(t, 20*time.Second, "jobs run", func() bool { return len(sink.Requests()) > 3 })

	for _, who := range []string{"a follower", "the leader"} {
		t.Run(who, func(t *testing.T) {
			leader := c.Leader()
			gone := leader
			if who == "a follower" {
				gone = c.Others(leader)[0]
			}
			left := c.Others(gone)
			cutAt := time.Now()
			cut := lab.Split([]string{gone.Name}, lab.Others(gone.Name))
			if gone == leader {
				cluster.Await(t, takeoverTime, "another replica leads", func() bool { return left[0].Leads() || left[1].Leads() })
				c.Told(left, gone.Name+" has not answered since (T); q[0-9] took over", cutAt)
			} else {
				c.Told(left, gone.Name+" has not answered since (T)", cutAt)
			}
			c.Missed(left, gone, cutAt)
			c.Told(left, "2 of 3 members are present; no further loss is tolerated")
			awaitUnready(t, gone, 2*lease)

			healedAt := time.Now()
			cut.Heal()
			c.WaitReady()
			c.Told(c.Replicas(), gone.Name+" did not answer from (T) to (T)", cutAt, healedAt)
			c.Told(c.Replicas(), "All 3 members are present")
		})
	}
}
