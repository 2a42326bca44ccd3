package network

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/test/cluster"
	"github.com/rota-scheduler/rota/test/history"
)

// storeScene is a scene with an external store on its own hosts.
type storeScene struct {
	*scene
	etcd  *Members
	hosts []string // hosts of the members
}

// TestStore makes faults of the store and of the links to it, which are proxies.
func TestStore(t *testing.T) {
	rng := seeded(t)
	replicas, members := []string{"q1", "q2", "q3"}, []string{"e1", "e2", "e3"}
	lab := New(t, slices.Concat(replicas, members)...)
	etcd := StartMembers(t, lab, member, lab.Hosts(members...), replicas)
	s := &storeScene{etcd: etcd, hosts: members}
	s.scene = open(t, rng, lab, cluster.Place{Hosts: lab.Hosts(replicas...), Endpoints: etcd.Endpoints}, etcd.URLs...)
	s.row("a member hangs", s.memberHangs)
	s.row("a member is a black hole", s.blackHole)
	s.row("links are slow", s.slowLinks)
	s.row("writes land late", s.lateWrites)
	s.row("the member that leads etcd hangs", s.leadingMemberHangs)
	s.row("connections are dead", s.deadConnections)
	s.row("watch compacted away", s.compactedAway)
	s.row("no majority", s.noMajority)
	if all() {
		s.row("both leaders vanish", s.bothLeadersVanish)
	}
	s.close()
}

// memberHangs stops a member that does not lead for longer than the lease. No session and no term may be lost.
func (s *storeScene) memberHangs(t *testing.T) {
	leader, sessions := s.c.Leader(), s.sessions(t)
	member := s.follower(t)
	s.etcd.Stop(member)
	s.steady(t, leader, lasting(lease+3*time.Second, 6*lease))
	if s.etcd.Answers(member) {
		t.Error("the member answers: the fault took no effect")
	}
	s.etcd.Cont(member)
	s.unharmed(t, sessions)
}

// leadingMemberHangs stops the member that leads etcd for longer than the lease. The others elect a leader, and all due runs
// continue. When the member continues, it may revoke all leases, even those that were renewed elsewhere (etcd issue 15247).
// Then the term starts again, once. The workers put their presence back, and keep their sessions and attempts.
func (s *storeScene) leadingMemberHangs(t *testing.T) {
	began := time.Now()
	member := s.leadingMember(t)
	over := s.c.Outage()
	s.etcd.Stop(member)
	cluster.Await(t, 2*lease, "etcd has another leader", func() bool { return s.etcd.Leader(member) >= 0 })
	t.Logf("etcd has another leader after %v", time.Since(began).Round(10*time.Millisecond))
	s.awaitCaughtUp(t)
	over()
	// The length of the hang is the fault, so the test waits exactly that long.
	time.Sleep(time.Until(began.Add(lasting(lease+3*time.Second, 6*lease))))
	if s.etcd.Answers(member) {
		t.Error("the member answers: the fault took no effect")
	}
	sessions, created := s.sessions(t), s.created(t)
	resumed := time.Now()
	s.etcd.Cont(member)
	if cluster.Within(2*time.Second, func() bool { return !maps.Equal(s.created(t), created) }) {
		t.Log("its return cost all leases")
		s.c.Harm(history.Fault{Kind: history.Evict, At: resumed})
	}
	s.unharmed(t, sessions)
	s.c.Recorder.Sync()
	if terms := s.termsSince(began); len(terms) > 3 {
		t.Errorf("terms in which slots were decided: got %d, want at most one more for the election, and one for the return: the leader flaps", terms)
	}
}

// created returns the revisions at which the records of the present workers were created, by name.
func (s *storeScene) created(t *testing.T) map[string]int64 {
	t.Helper()
	s.c.Recorder.Sync()
	created := make(map[string]int64)
	for name := range s.sessions(t) {
		vs := s.c.Recorder.VersionsOf("workers/" + name)
		created[name] = vs[len(vs)-1].Create
	}
	return created
}

// blackHole drops all packets of replicas to one member, which may lead etcd.
func (s *storeScene) blackHole(t *testing.T) {
	leader, sessions := s.c.Leader(), s.sessions(t)
	member := s.rng.IntN(len(s.hosts))
	var cuts []*Cut
	for _, n := range s.c.Replicas() {
		cuts = append(cuts, s.lab.Blackhole(n.Name, s.etcd.Proxies[n.Name][member].Port))
	}
	s.steady(t, leader, 14*time.Second) // longer than a silent connection is kept
	for _, cut := range cuts {
		cut.Heal()
	}
	s.unharmed(t, sessions)
}

// slowLinks delays everything between replicas and the store by 300 ms, there and back.
func (s *storeScene) slowLinks(t *testing.T) {
	const there = 150 * time.Millisecond
	leader, sessions := s.c.Leader(), s.sessions(t)
	delay := func(d time.Duration) {
		for _, proxies := range s.etcd.Proxies {
			for _, p := range proxies {
				p.Delay(d)
			}
		}
	}
	delay(there)
	var took time.Duration
	cluster.Await(t, 10*time.Second, leader.Name+" is ready over slow links", func() bool {
		asked := time.Now()
		_, ok := ready(t, leader)
		took = time.Since(asked)
		return ok
	})
	if took < 2*there {
		t.Errorf("%s is ready after %v: the fault took no effect", leader.Name, took)
	}
	s.steady(t, leader, lease+2*time.Second)
	delay(0)
	s.unharmed(t, sessions)
}

// lateWrites stops the member that leads etcd, in the middle of a slot, for less than a lease. Requests under way to it are
// applied when it continues. By then another member has led, and no client waits for the answers. Unguarded writes of the test
// show that this happens. No write of rota may take effect in this way.
func (s *storeScene) lateWrites(t *testing.T) {
	late := 0
	for try := 0; try < 3 || late == 0 && try < 10; try++ {
		late += s.lateWrite(t, try)
		s.awaitCaughtUp(t)
	}
	t.Logf("%d writes took effect after a read by the majority had not found them", late)
	if late == 0 {
		t.Error("no write was late: the fault took no effect")
	}
}

func (s *storeScene) lateWrite(t *testing.T, try int) (late int) {
	t.Helper()
	leader := s.leadingMember(t)
	through := s.etcd.clients[(leader+1)%len(s.hosts)]
	slot := time.Now().Truncate(time.Second).Add(time.Second + time.Duration(s.rng.IntN(20))*time.Millisecond)
	// The fault must come while rota's leader decides the slot, which is an instant of the clock.
	time.Sleep(time.Until(slot))
	s.etcd.Stop(leader)
	const writes = 20
	key := func(i int) string { return fmt.Sprintf("/canary/%d/%d", try, i) }
	open := make(map[string]bool)
	for i := range writes {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
		_, err := through.Put(ctx, key(i), "")
		open[key(i)] = err != nil
		cancel()
	}
	cluster.Await(t, lease, "another member leads", func() bool { next := s.etcd.Leader(leader); return next >= 0 && next != leader })
	absent := make(map[string]bool)
	for i := range writes {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		if resp, err := through.Get(ctx, key(i)); err == nil && resp.Count == 0 && open[key(i)] {
			absent[key(i)] = true
		}
		cancel()
	}
	s.etcd.Cont(leader)
	cluster.Within(2*time.Second, func() bool {
		for key := range absent {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			if resp, err := through.Get(ctx, key); err == nil && resp.Count == 1 {
				delete(absent, key)
				late++
			}
			cancel()
		}
		return len(absent) == 0
	})
	return late
}

// noMajority stops two of three members for longer than leases last. Dispatching stops, and then catches up.
func (s *storeScene) noMajority(t *testing.T) {
	over := s.c.Outage()
	first := s.rng.IntN(len(s.hosts))
	cut := s.lab.Vanish(s.hosts[first], s.hosts[(first+1)%len(s.hosts)])
	began := time.Now()
	cluster.Await(t, takeoverTime, "no replica leads", func() bool {
		return !slices.ContainsFunc(s.c.Replicas(), func(n *cluster.Node) bool { return n.Leads() })
	})
	t.Logf("no replica leads after %v", time.Since(began).Round(10*time.Millisecond))
	for _, n := range s.c.Replicas() {
		awaitUnready(t, n, 5*time.Second)
	}
	before := len(s.effects())
	length := 2 * lease
	if all() {
		length = time.Minute
	}
	// Without a quorum no run may start for the whole time. There is no condition to poll.
	time.Sleep(time.Until(began.Add(length)))
	if n := len(s.effects()); n > before {
		t.Errorf("%d executions started without a leader", n-before)
	}
	cut.Heal()
	healed := time.Now()
	s.c.WaitReady()
	t.Logf("all are ready, and one leads, %v after the majority is back", time.Since(healed).Round(10*time.Millisecond))
	over()
}

// bothLeadersVanish makes the machines of the leader and of etcd's leader vanish at once. etcd elects first and extends all
// leases. Only then the lease can expire. The test sets no limit for etcd's election: after the previous fault, the members may
// wait for TCP to retry on a connection that was dead for a minute.
func (s *storeScene) bothLeadersVanish(t *testing.T) {
	leader, member := s.c.Leader(), s.leadingMember(t)
	over := s.outage(leader.Name)
	cut := s.lab.Vanish(leader.Name, s.hosts[member])
	since := time.Now()
	cluster.Await(t, time.Minute, "etcd has another leader", func() bool { return s.etcd.Leader(member) >= 0 })
	t.Logf("etcd has another leader after %v", time.Since(since).Round(10*time.Millisecond))
	s.takeover(t, leader, since, takeoverTime)
	cut.Heal()
	leader.WaitReady()
	over()
}

// leadingMember returns the member that leads etcd.
func (s *storeScene) leadingMember(t *testing.T) (leader int) {
	t.Helper()
	cluster.Await(t, 10*time.Second, "a member leads", func() bool { leader = s.etcd.Leader(-1); return leader >= 0 })
	return leader
}

// follower returns a member that does not lead etcd.
func (s *storeScene) follower(t *testing.T) int {
	t.Helper()
	return (s.leadingMember(t) + 1 + s.rng.IntN(len(s.hosts)-1)) % len(s.hosts)
}

// sessions returns the sessions of the present workers, by name.
func (s *storeScene) sessions(t *testing.T) map[string]string {
	t.Helper()
	sessions, err := s.askSessions(t)
	if err != nil {
		t.Fatal(err)
	}
	return sessions
}

func (s *storeScene) askSessions(t *testing.T) (map[string]string, error) {
	t.Helper()
	ws, err := s.c.Client.Workers(t.Context())
	sessions := make(map[string]string)
	for _, w := range ws {
		sessions[w.Name] = w.Session
	}
	return sessions, err
}

// unharmed checks that no worker lost its session.
func (s *storeScene) unharmed(t *testing.T, before map[string]string) {
	t.Helper()
	s.c.WaitReady()
	if now := s.sessions(t); !maps.Equal(now, before) {
		t.Errorf("sessions of workers: got %v, want those of before, %v", now, before)
	}
}
