package network

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/test/cluster"
	"github.com/rota-scheduler/rota/test/history"
)

// TestSplits cuts links between three hosts, each with a replica and its member of the store.
func TestSplits(t *testing.T) {
	rng := seeded(t)
	lab := New(t, "q1", "q2", "q3")
	s := open(t, rng, lab, cluster.Place{Hosts: lab.Hosts()})
	s.row("leader alone", s.leaderAlone)
	s.row("leader deaf", s.leaderDeaf)
	s.row("leader mute", s.leaderMute)
	s.row("follower alone", s.followerAlone)
	if all() {
		s.row("follower deaf", s.followerDeaf)
		s.row("follower mute", s.followerMute)
		s.row("etcd's leader alone", s.storeLeaderAlone)
	}
	s.row("one link of the leader", s.oneLink)
	s.row("the leader's machine vanishes", s.machineLost)
	s.close()
	s.killed()
}

// killed fails the test unless some command was killed on a partitioned host and started again elsewhere. For each such
// command, the judge has checked that the first execution was dead by the time that guarantees.md states.
func (s *scene) killed() {
	s.t.Helper()
	lives := make(map[string][]history.Effect)
	again, worst := 0, time.Duration(-1<<63)
	for _, e := range s.ledger.Effects() {
		if strings.HasPrefix(e.Job, working) {
			lives[e.Run] = append(lives[e.Run], e)
		}
	}
	for _, es := range lives {
		for i := 1; i < len(es); i++ {
			if first := es[i-1]; first.Ended.IsZero() && !first.Alive.IsZero() {
				again++
				worst = max(worst, first.Alive.Sub(es[i].Arrived))
			}
		}
	}
	if s.t.Logf("%d commands were killed and begun again, which were last seen at work %v before that", again, -worst); again == 0 {
		s.t.Error("no command was killed where it was cut off, and begun again elsewhere: the faults took no effect")
	}
}

// leaderAlone partitions the leader from the quorum. The majority continues, and the leader stops in time. Meanwhile clients of
// all replicas send the same requests, and porcupine judges the answers.
func (s *scene) leaderAlone(t *testing.T) {
	stop := s.c.Clients(len(s.c.Replicas()), s.rng)
	defer s.answered(t, stop)
	leader := s.leaderApart(t)
	s.deposed(t, leader, s.lab.Split([]string{leader.Name}, s.lab.Others(leader.Name)))
}

// answered ends the clients, and fails the test if none of them had to wait, or none was served.
func (s *scene) answered(t *testing.T, stop func()) {
	stop()
	open, done := 0, 0
	for _, call := range s.c.Calls.All() {
		switch call.Answer {
		case history.Open:
			open++
		case history.Done:
			done++
		}
	}
	if t.Logf("%d calls were answered, %d have no definite answer", done, open); open == 0 || done < 20 {
		t.Errorf("%d calls were answered, %d have no definite answer: the fault took no effect, or there was no load", done, open)
	}
}

// leaderDeaf drops all packets to the leader.
func (s *scene) leaderDeaf(t *testing.T) {
	leader := s.leaderApart(t)
	s.deposed(t, leader, s.lab.CutOneWay(s.lab.Others(leader.Name), []string{leader.Name}))
}

// leaderMute drops all packets from the leader.
func (s *scene) leaderMute(t *testing.T) {
	leader := s.leaderApart(t)
	s.deposed(t, leader, s.lab.CutOneWay([]string{leader.Name}, s.lab.Others(leader.Name)))
}

// leaderApart waits until the leader's member does not lead etcd, and returns the leader. rota moves etcd's leadership to
// another member, so that the loss of one machine causes one election and not two.
func (s *scene) leaderApart(t *testing.T) (leader *cluster.Node) {
	t.Helper()
	cluster.Await(t, 20*time.Second, "etcd is led by another replica than the leader", func() bool {
		leader = s.c.Leader()
		return s.c.StoreLeader() != leader
	})
	return leader
}

// deposed waits until another replica leads in place of a partitioned one, and heals the cut.
func (s *scene) deposed(t *testing.T, leader *cluster.Node, cut *Cut) {
	t.Helper()
	since := time.Now()
	over := s.outage(leader.Name)
	s.takeover(t, leader, since, takeoverTime)
	awaitUnready(t, leader, 5*time.Second)
	// Both sides continue while the partition lasts. There is no condition to poll.
	time.Sleep(lasting(time.Second, 12*lease))
	cut.Heal()
	leader.WaitReady()
	over()
}

// followerAlone partitions one follower.
func (s *scene) followerAlone(t *testing.T) {
	s.followerHarmed(t, func(name string) *Cut { return s.lab.Split([]string{name}, s.lab.Others(name)) })
}

// followerDeaf drops all packets to a follower.
func (s *scene) followerDeaf(t *testing.T) {
	s.followerHarmed(t, func(name string) *Cut { return s.lab.CutOneWay(s.lab.Others(name), []string{name}) })
}

// followerMute drops all packets from a follower, which goes on to get orders.
func (s *scene) followerMute(t *testing.T) {
	s.followerHarmed(t, func(name string) *Cut { return s.lab.CutOneWay([]string{name}, s.lab.Others(name)) })
}

// followerHarmed cuts links of one follower whose member does not lead etcd. No other replica may be affected. If its member led
// etcd, the election might last longer than a lease.
func (s *scene) followerHarmed(t *testing.T, cutOff func(name string) *Cut) {
	t.Helper()
	leader := s.leaderApart(t) // otherwise the leader might move etcd's leadership to the partitioned member
	storeLeader := s.c.StoreLeader()
	follower := s.follower(leader)
	for follower == storeLeader {
		follower = s.follower(leader)
	}
	cut := cutOff(follower.Name)
	over := s.outage(follower.Name)
	awaitUnready(t, follower, 10*time.Second)
	s.steady(t, leader, lasting(lease+time.Second, 12*lease))
	cut.Heal()
	follower.WaitReady()
	over()
}

// storeLeaderAlone partitions the follower whose member leads etcd. Another member is elected, and slots are decided again while the
// partition lasts.
func (s *scene) storeLeaderAlone(t *testing.T) {
	s.leaderApart(t)
	node := s.c.StoreLeader()
	began, over := time.Now(), s.c.Outage()
	cut := s.lab.Split([]string{node.Name}, s.lab.Others(node.Name))
	awaitUnready(t, node, 10*time.Second)
	s.awaitCaughtUp(t)
	t.Logf("slots are decided again %v after the cut", time.Since(began).Round(10*time.Millisecond))
	over()
	alone := s.outage(node.Name)
	// The others continue while the partition lasts. There is no condition to poll.
	time.Sleep(lasting(lease, 12*lease))
	cut.Heal()
	node.WaitReady()
	alone()
}

// oneLink cuts the link between the leader and one follower; the third replica reaches both. If the follower's member leads
// etcd, the leader's member has no leader, and another replica may lead. Nothing else may happen.
func (s *scene) oneLink(t *testing.T) {
	leader := s.c.Leader()
	follower := s.follower(leader)
	since := time.Now()
	cut := s.lab.Split([]string{leader.Name}, []string{follower.Name})
	over := s.outage(leader.Name, follower.Name)
	// Leadership must not change again and again during this time. There is no condition to poll.
	time.Sleep(lasting(2*lease, 12*lease))
	s.c.Recorder.Sync()
	if terms := s.termsSince(since); len(terms) > 2 {
		t.Errorf("terms in which slots were decided: got %d, want at most two: the leader flaps", terms)
	} else {
		t.Logf("terms in which slots were decided: %d", terms)
	}
	s.c.Leader()
	cut.Heal()
	s.c.WaitReady()
	over()
}

// machineLost makes the leader's machine vanish as if it lost power. No connection is refused, so the other replicas notice the
// loss only when the lease expires.
func (s *scene) machineLost(t *testing.T) {
	leader := s.leaderApart(t)
	cut := s.lab.Vanish(leader.Name)
	since := time.Now()
	over := s.outage(leader.Name)
	s.takeover(t, leader, since, takeoverTime)
	// The machine may be away for longer than TCP tries again often. There is no condition to poll.
	time.Sleep(lasting(0, 30*lease))
	cut.Heal()
	leader.WaitReady()
	over()
}

// follower returns a replica that does not lead.
func (s *scene) follower(leader *cluster.Node) *cluster.Node {
	others := slices.DeleteFunc(slices.Clone(s.c.Replicas()), func(n *cluster.Node) bool { return n == leader })
	return others[s.rng.IntN(len(others))]
}
