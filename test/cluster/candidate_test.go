package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/election"
)

// standing is the key of a replica in the election.
type standing struct {
	node  *Node
	key   string
	rev   int64 // create revision of the key: the term if it leads
	lease int64
}

// queue waits until all replicas have a key in the election and as accepts these keys. It returns them in the order of the
// queue.
func queue(t *testing.T, c *Cluster, what string, as func(q []standing) bool) (q []standing) {
	t.Helper()
	nodes := make(map[string]*Node)
	for _, n := range c.Replicas() {
		nodes[n.Name] = n
	}
	Await(t, 30*time.Second, what, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		resp, err := c.Recorder.client.Get(ctx, Prefix+"/election/", clientv3.WithPrefix(),
			clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
		if err != nil || len(resp.Kvs) != len(nodes) {
			return false
		}
		q = nil
		for _, kv := range resp.Kvs {
			var who election.Candidate
			if json.Unmarshal(kv.Value, &who) != nil || nodes[who.Node] == nil {
				return false
			}
			q = append(q, standing{node: nodes[who.Node], key: string(kv.Key), rev: kv.CreateRevision, lease: kv.Lease})
		}
		return as(q)
	})
	return q
}

// harmCandidates deletes keys and revokes leases of waiting candidates, alone and together with the candidates before them. A
// candidate that lost its key queues again at the end, and leads when its turn comes. A candidate without a key starts no term.
// No candidate waits for a dead candidate for longer than its lease.
func harmCandidates(t *testing.T, c *Cluster) {
	t.Helper()
	dead := make(map[int64]string) // by create revision: names of candidates whose keys were deleted before they led
	q := queue(t, c, "all stand", func([]standing) bool { return true })

	for _, take := range []func(standing){
		func(s standing) { remove(t, c, s.key) },
		func(s standing) { revoke(t, c, s.lease) },
	} {
		leader, lost := q[0], q[1]
		dead[lost.rev] = lost.node.Name
		take(lost)
		t.Logf("fault: %s stands no more, while it waits behind %s", lost.node.Name, leader.node.Name)
		q = queue(t, c, lost.node.Name+" stands again, behind the others", func(q []standing) bool {
			return q[2].node == lost.node && q[2].rev > lost.rev && q[2].lease != lost.lease
		})
		if q[0] != leader || !Within(5*time.Second, leader.node.Leads) {
			t.Errorf("%s leads under %d, want %s still under %d", q[0].node.Name, q[0].rev, leader.node.Name, leader.rev)
		}
	}

	for _, blow := range []struct {
		what string
		take func(leader, next standing)
	}{
		{"at one revision", func(leader, next standing) {
			Await(t, 10*time.Second, "both keys are gone", func() bool {
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				_, err := c.Recorder.client.Txn(ctx).Then(clientv3.OpDelete(leader.key), clientv3.OpDelete(next.key)).Commit()
				return err == nil
			})
		}},
		{"the second one's with its lease", func(leader, next standing) {
			revoke(t, c, next.lease)
			remove(t, c, leader.key)
		}},
		{"the second one's since it is stopped for longer than its lease", func(leader, next standing) {
			next.node.Stop()
			remove(t, c, leader.key)
		}},
	} {
		// If the member that leads etcd stops, etcd must elect again, and all nodes may lose their leases.
		for c.StoreLeader() == q[1].node {
			back := q[1].node
			remove(t, c, q[1].key)
			q = queue(t, c, "another one is the second", func(q []standing) bool { return q[1].node != back })
		}
		leader, fooled, heir := q[0], q[1], q[2]
		dead[fooled.rev] = fooled.node.Name
		led := fooled.node.Metric("rota_terms_total")
		blow.take(leader, fooled)
		struck := time.Now()
		t.Logf("fault: the keys of %s, which leads, and of %s, which is next, are taken: %s", leader.node.Name, fooled.node.Name, blow.what)
		Await(t, 3*electionTTL, heir.node.Name+", which was the third, leads", heir.node.Leads)
		took := time.Since(struck)
		if t.Logf("%s leads %v after that", heir.node.Name, took.Round(10*time.Millisecond)); took > 2*electionTTL {
			t.Errorf("%s leads %v after the two before it were gone, want at most as long as a lease", heir.node.Name, took)
		}
		if fooled.node.isStopped() {
			fooled.node.Cont()
		}
		q = queue(t, c, "all stand again", func(q []standing) bool {
			return q[0].rev == heir.rev && q[0].node == heir.node && q[1].rev > heir.rev && q[2].rev > heir.rev
		})
		c.WaitReady()
		if now := fooled.node.Metric("rota_terms_total"); now != led {
			t.Errorf("%s has led %v times, and %v before its key was taken", fooled.node.Name, now, led)
		}
	}

	// The candidate that lost its key earlier wins when its turn comes.
	Await(t, 20*time.Second, "etcd is led by another replica", func() bool { return c.StoreLeader() != q[0].node })
	fell := time.Now()
	q[0].node.Kill()
	Await(t, 3*electionTTL, q[1].node.Name+", which was next, leads", q[1].node.Leads)
	t.Logf("%s leads %v after %s was killed", q[1].node.Name, time.Since(fell).Round(10*time.Millisecond), q[0].node.Name)
	q[0].node.Start()
	q[0].node.WaitReady()

	c.Recorder.Sync()
	for _, v := range c.Recorder.Versions() {
		if cursor, ok := cursorIn(v); ok && dead[cursor.Term] != "" {
			t.Errorf("%s was written under the term %d of %s, whose key was taken before it led", v.Key, cursor.Term, dead[cursor.Term])
		}
	}
}

// revoke revokes a lease by hand.
func revoke(t *testing.T, c *Cluster, lease int64) {
	t.Helper()
	args := []string{"etcdctl", "--endpoints=" + c.Endpoints()[0], "lease", "revoke", fmt.Sprintf("%x", lease)}
	// While etcd elects a leader, it may lose a request. It reports the loss after five seconds.
	Await(t, 20*time.Second, "the lease is revoked", func() bool {
		out, code := Command(t, binary, args...)
		return code == 0 || strings.Contains(out, "lease not found")
	})
}
