package soak

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/cluster"
	"github.com/rota-scheduler/rota/test/history"
)

const (
	lease = 5 * time.Second // the default of election.ttl
	grace = 3 * time.Second // the shutdown grace period in package cluster
	// after is how long after its end a fault may still have effects.
	after = 3 * time.Second
)

// window is the time in which a fault may delay a slot.
type window struct {
	fault    string
	from, to time.Time
}

// nemesis makes and heals one fault of a cluster at a time.
type nemesis struct {
	t       *testing.T
	c       *cluster.Cluster
	seed    uint64
	rng     *rand.Rand // randomness of the present fault
	etcd    *clientv3.Client
	workers []*cluster.Node

	windows []window
	made    map[string]int  // count by name of the fault
	byHand  map[string]bool // keys written by hand
}

// fault is one kind of fault. make makes the fault, proves its effect, and undoes it. It returns the proof, or an error if the
// fault took no effect.
type fault struct {
	name string
	make func() (proof string, err error)
}

func (n *nemesis) faults() []fault {
	list := []fault{
		{"kill a replica", func() (string, error) { return n.kill(n.replica()) }},
		{"kill the leader", func() (string, error) { return n.kill(n.c.Leader()) }},
		{"kill a worker", func() (string, error) { return n.kill(n.worker()) }},
		{"kill who leads etcd", n.killStoreLeader},
		{"end a replica", func() (string, error) { return n.terminate(n.replica()) }},
		{"end a worker", func() (string, error) { return n.terminate(n.worker()) }},
		{"quorum lost", n.outage},
		{"garbage", n.garbage},
		{"leader's key deleted", n.dethrone},
		{"presence deleted", n.evict},
		{"lease revoked", n.revoke},
		{"compaction", n.compact},
	}
	for _, p := range []struct {
		text   string
		length time.Duration
	}{{"0.5", lease / 2}, {"1", lease}, {"3", 3 * lease}} {
		list = append(list,
			fault{"pause the leader " + p.text, func() (string, error) { return n.pause(n.c.Leader(), p.length) }},
			fault{"pause a follower " + p.text, func() (string, error) { return n.pause(n.follower(), p.length) }},
			fault{"pause a worker " + p.text, func() (string, error) { return n.pause(n.worker(), p.length) }})
	}
	return list
}

// run makes faults until the time is over. It makes each kind of fault once, in a random order, and then starts again.
func (n *nemesis) run(until time.Time) {
	list := n.faults()
	for round := uint64(0); ; round++ {
		for k, i := range n.chance(round, 0).Perm(len(list)) {
			n.rng = n.chance(round, uint64(k)+1)
			// The time between two faults is part of the load: in it the cluster works without a fault. There is no condition to poll.
			time.Sleep(after + 2*time.Second + n.some(3*time.Second))
			if time.Now().After(until) {
				return
			}
			from := time.Now()
			proof, err := list[i].make()
			if err != nil {
				n.t.Errorf("%s: took no effect: %v", list[i].name, err)
			}
			n.heal()
			n.made[list[i].name]++
			n.windows = append(n.windows, window{list[i].name, from, time.Now().Add(after)})
			n.t.Logf("%-22s %s; healed after %v", list[i].name, proof, time.Since(from).Round(10*time.Millisecond))
		}
	}
}

// chance returns a source of randomness. It depends only on the seed and the arguments, not on earlier faults.
func (n *nemesis) chance(round, of uint64) *rand.Rand {
	return rand.New(rand.NewPCG(n.seed, round<<16|of))
}

// heal waits until everything that runs is healthy.
func (n *nemesis) heal() {
	n.t.Helper()
	n.c.WaitReady()
	for _, w := range n.workers {
		w.WaitReady()
	}
}

// session returns the session of a node's worker; empty if it has none.
func (n *nemesis) session(node *cluster.Node) string {
	vs := n.c.Recorder.VersionsOf("workers/" + node.Name)
	if len(vs) == 0 || vs[len(vs)-1].Deleted {
		return ""
	}
	return decode[job.Worker](n.t, vs[len(vs)-1]).Session
}

// newSession waits until the session of a node's worker differs from before, and returns it.
func (n *nemesis) newSession(node *cluster.Node, before string) (string, error) {
	now := ""
	if !cluster.Within(40*time.Second, func() bool { now = n.session(node); return now != "" && now != before }) {
		return "", fmt.Errorf("%s has session %q, had %q", node.Name, now, before)
	}
	return fmt.Sprintf("%s has a new session", node.Name), nil
}

func decode[T any](t *testing.T, v history.Version) (record T) {
	t.Helper()
	if err := json.Unmarshal(v.Value, &record); err != nil {
		t.Errorf("read %s: %v", v.Key, err)
	}
	return record
}
