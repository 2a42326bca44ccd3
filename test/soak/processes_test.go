package soak

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/test/cluster"
	"github.com/rota-scheduler/rota/test/history"
)

func (n *nemesis) replica() *cluster.Node { return n.c.Replicas()[n.rng.IntN(len(n.c.Replicas()))] }
func (n *nemesis) worker() *cluster.Node  { return n.workers[n.rng.IntN(len(n.workers))] }

func (n *nemesis) follower() *cluster.Node {
	leader := n.c.Leader()
	var others []*cluster.Node
	for _, r := range n.c.Replicas() {
		if r != leader {
			others = append(others, r)
		}
	}
	return others[n.rng.IntN(len(others))]
}

// some returns a random time below most.
func (n *nemesis) some(most time.Duration) time.Duration {
	return time.Duration(n.rng.Int64N(int64(most)))
}

func (n *nemesis) kill(victim *cluster.Node) (string, error) {
	before, pid := n.session(victim), victim.PID()
	victim.Kill()
	// The process stays dead for a random time, which is the fault. There is no condition to poll.
	time.Sleep(n.some(6 * time.Second))
	victim.Start()
	if victim.PID() == pid {
		return "", fmt.Errorf("%s is still process %d", victim.Name, pid)
	}
	return n.newSession(victim, before)
}

func (n *nemesis) terminate(victim *cluster.Node) (string, error) {
	before, asked := n.session(victim), time.Now()
	victim.Terminate()
	if took := time.Since(asked); took > grace {
		n.c.Harm(history.Fault{Kind: history.Drain, Node: victim.Name, At: asked.Add(grace)})
		n.c.Heal(victim.Name)
	}
	// The process stays down for a random time, which is the fault. There is no condition to poll.
	time.Sleep(n.some(3 * time.Second))
	victim.Start()
	return n.newSession(victim, before)
}

func (n *nemesis) killStoreLeader() (string, error) {
	before, term := n.storeLeader()
	if before == nil {
		return "", errors.New("no member leads etcd")
	}
	said, err := n.kill(before)
	if err != nil {
		return said, err
	}
	var now *cluster.Node
	var next uint64
	if !cluster.Within(20*time.Second, func() bool { now, next = n.storeLeader(); return now != nil && next > term }) {
		return said, fmt.Errorf("etcd is still in raft term %d", term)
	}
	return fmt.Sprintf("%s; %s leads etcd in raft term %d after %d", said, now.Name, next, term), nil
}

// storeLeader returns the replica whose member leads etcd, and raft's term.
func (n *nemesis) storeLeader() (*cluster.Node, uint64) {
	for _, r := range n.c.Replicas() {
		ctx, cancel := context.WithTimeout(n.t.Context(), time.Second)
		status, err := n.etcd.Status(ctx, r.Etcd)
		cancel()
		if err == nil && status.Leader == status.Header.MemberId {
			return r, status.RaftTerm
		}
	}
	return nil, 0
}

func (n *nemesis) pause(victim *cluster.Node, length time.Duration) (string, error) {
	before := n.session(victim)
	leader, _ := n.storeLeader()
	others := n.created(victim)
	victim.Stop()
	// The length of the pause is the fault, so the test waits exactly that long.
	time.Sleep(length / 2)
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", victim.PID()))
	// The second half of the pause.
	time.Sleep(length / 2)
	resumed := time.Now()
	victim.Cont()
	if _, rest, _ := strings.Cut(string(stat), ") "); !strings.HasPrefix(rest, "T") {
		return "", fmt.Errorf("%s was not stopped: %.40s", victim.Name, stat)
	}
	said := victim.Name + " was stopped"
	if leader == victim && length >= lease && n.usurped(victim, others, resumed) {
		said += "; when it continued, its member of etcd revoked the leases of others"
	}
	if length < 2*lease {
		return said, nil
	}
	_, err := n.newSession(victim, before)
	return said + ", and has a new session", err
}

// usurped reports whether a stopped member that led etcd revoked the leases of others when it continued. It had not learned of
// its successor, and by its own records the leases had expired. This is a fault of etcd (issue 15247; its protection does not
// cover a stopped process), and it affects all nodes.
func (n *nemesis) usurped(victim *cluster.Node, before map[string]int64, resumed time.Time) bool {
	if !cluster.Within(2*time.Second, func() bool { return !maps.Equal(before, n.created(victim)) }) {
		return false
	}
	n.c.Harm(history.Fault{Kind: history.Evict, At: resumed})
	return true
}

// created returns the revisions at which the presences of all nodes but one were created.
func (n *nemesis) created(but *cluster.Node) map[string]int64 {
	created := make(map[string]int64)
	for _, node := range slices.Concat(n.c.Replicas(), n.workers) {
		if vs := n.c.Recorder.VersionsOf("workers/" + node.Name); node != but && len(vs) > 0 {
			created[node.Name] = vs[len(vs)-1].Create
		}
	}
	return created
}

func (n *nemesis) outage() (string, error) {
	over := n.c.Outage()
	spared := n.rng.IntN(len(n.c.Replicas()))
	var names []string
	for i, r := range n.c.Replicas() {
		if i != spared {
			r.Stop()
			names = append(names, r.Name)
		}
	}
	length := 5*time.Second + n.some(15*time.Second)
	began := time.Now()
	ctx, cancel := context.WithTimeout(n.t.Context(), 2*time.Second)
	_, err := n.etcd.Get(ctx, cluster.Prefix)
	cancel()
	// The length of the outage is the fault, so the test waits exactly that long.
	time.Sleep(time.Until(began.Add(length)))
	for i, r := range n.c.Replicas() {
		if i != spared {
			r.Cont()
		}
	}
	over()
	if err == nil {
		return "", fmt.Errorf("the store answered without %v", names)
	}
	return fmt.Sprintf("no answer from the store without %v, %v long", names, length.Round(time.Second)), nil
}
