package soak

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/store"
	"github.com/rota-scheduler/rota/test/cluster"
	"github.com/rota-scheduler/rota/test/history"
)

// families returns keys of each family of records, and keys that belong to no family.
func families() (keys []string) {
	many, single := store.Kinds()
	for _, kind := range many {
		family := string(kind) + "/"
		switch kind {
		case store.KindRuns:
			keys = append(keys, family+"bad/2026-01-01T00:00:00Z", family+"all-skip-001/bad")
		case store.KindQueues:
			keys = append(keys, family+"w1/bad", family+"nobody/bad")
		case store.KindEvents:
			keys = append(keys, family+"all-skip-001/bad")
		default:
			keys = append(keys, family+"bad")
		}
	}
	for _, kind := range single {
		keys = append(keys, string(kind))
	}
	return append(keys, "unknown/bad", "bad")
}

var noise = []string{
	"\xff\xfe{\"name\":", "", `{"name":"` + strings.Repeat("x", 1<<18) + `"}`, `{"version":99}`, `[{"spec":{"state":"running"}}]`,
}

func (n *nemesis) garbage() (string, error) {
	for _, key := range families() {
		key = cluster.Prefix + "/" + key
		n.byHand[key] = true
		n.write("put "+key, func(ctx context.Context) error {
			_, err := n.etcd.Put(ctx, key, noise[n.rng.IntN(len(noise))])
			return err
		})
	}
	named := 0
	reported := cluster.Within(10*time.Second, func() bool { named = n.quarantined(); return named >= 5 })
	// The garbage stays for a random time, which is the fault. There is no condition to poll.
	time.Sleep(n.some(3 * time.Second))
	for _, key := range families() {
		n.write("delete "+key, func(ctx context.Context) error {
			_, err := n.etcd.Delete(ctx, cluster.Prefix+"/"+key)
			return err
		})
	}
	if !reported {
		return "", fmt.Errorf("only %d keys are named as unreadable", named)
	}
	if !cluster.Within(20*time.Second, func() bool { return n.quarantined() == 0 }) {
		n.t.Errorf("keys are named as unreadable that are gone")
	}
	return fmt.Sprintf("%d of %d keys named as unreadable", named, len(families())), nil
}

func (n *nemesis) quarantined() int {
	v, err := n.c.Client.Cluster(n.t.Context())
	if err != nil {
		return -1
	}
	return len(v.Quarantined)
}

func (n *nemesis) dethrone() (string, error) {
	key, term, _ := n.first()
	n.write("delete "+key, func(ctx context.Context) error {
		_, err := n.etcd.Delete(ctx, key)
		return err
	})
	return n.newTerm(term)
}

func (n *nemesis) newTerm(before int64) (string, error) {
	var term int64
	if !cluster.Within(20*time.Second, func() bool { _, term, _ = n.first(); return term > before }) {
		return "", fmt.Errorf("term %d continues", before)
	}
	return fmt.Sprintf("term %d after %d", term, before), nil
}

// first returns the leader's key, its create revision, and its lease.
func (n *nemesis) first() (key string, term int64, id clientv3.LeaseID) {
	ctx, cancel := context.WithTimeout(n.t.Context(), 5*time.Second)
	defer cancel()
	resp, err := n.etcd.Get(ctx, cluster.Prefix+"/election/", clientv3.WithFirstCreate()...)
	if err != nil || len(resp.Kvs) == 0 {
		return "", 0, 0
	}
	kv := resp.Kvs[0]
	return string(kv.Key), kv.CreateRevision, clientv3.LeaseID(kv.Lease)
}

func (n *nemesis) evict() (string, error) {
	nodes := append(append([]*cluster.Node(nil), n.workers...), n.c.Replicas()...)
	victim := nodes[n.rng.IntN(len(nodes))]
	key := cluster.Prefix + "/workers/" + victim.Name
	n.c.Harm(history.Fault{Kind: history.Evict, Node: victim.Name, At: time.Now()})
	var deleted int64
	n.write("delete "+key, func(ctx context.Context) error {
		resp, err := n.etcd.Delete(ctx, key)
		if err == nil && resp.Deleted > 0 {
			deleted = resp.Header.Revision
		}
		return err
	})
	if deleted == 0 || !n.shownAgain(victim, deleted) {
		return "", fmt.Errorf("presence of %s was not deleted (%d), or has not come back", victim.Name, deleted)
	}
	return victim.Name + " showed itself again", nil
}

func (n *nemesis) revoke() (string, error) {
	if n.rng.IntN(3) == 0 {
		_, term, id := n.first()
		n.revokeLease(id)
		said, err := n.newTerm(term)
		return "of the leader's key: " + said, err
	}
	nodes := append(append([]*cluster.Node(nil), n.workers...), n.c.Replicas()...)
	victim := nodes[n.rng.IntN(len(nodes))]
	ctx, cancel := context.WithTimeout(n.t.Context(), 5*time.Second)
	resp, err := n.etcd.Get(ctx, cluster.Prefix+"/workers/"+victim.Name)
	cancel()
	if err != nil || len(resp.Kvs) == 0 || resp.Kvs[0].Lease == 0 {
		return "", errors.Join(fmt.Errorf("presence of %s has no lease", victim.Name), err)
	}
	n.c.Harm(history.Fault{Kind: history.Evict, Node: victim.Name, At: time.Now()})
	n.revokeLease(clientv3.LeaseID(resp.Kvs[0].Lease))
	if !n.shownAgain(victim, resp.Kvs[0].CreateRevision) {
		return "", fmt.Errorf("presence of %s has not come back", victim.Name)
	}
	return victim.Name + " showed itself again", nil
}

// shownAgain waits until the presence of a node's worker was created after rev.
func (n *nemesis) shownAgain(node *cluster.Node, rev int64) bool {
	return cluster.Within(30*time.Second, func() bool {
		vs := n.c.Recorder.VersionsOf("workers/" + node.Name)
		return len(vs) > 0 && vs[len(vs)-1].Create > rev
	})
}

func (n *nemesis) revokeLease(id clientv3.LeaseID) {
	n.write("revoke a lease", func(ctx context.Context) error {
		_, err := n.etcd.Revoke(ctx, id)
		return err
	})
}

// compact compacts the whole history while a process is stopped.
func (n *nemesis) compact() (string, error) {
	victim := n.worker()
	victim.Stop()
	// The process must miss changes of the store. A stopped process shows nothing that could be polled.
	time.Sleep(lease / 2)
	rev := n.c.Recorder.Rev() // compact only recorded changes: the recorder would miss others
	n.write("compact", func(ctx context.Context) error {
		_, err := n.etcd.Compact(ctx, rev)
		return err
	})
	victim.Cont()
	ctx, cancel := context.WithTimeout(n.t.Context(), 5*time.Second)
	defer cancel()
	if _, err := n.etcd.Get(ctx, cluster.Prefix, clientv3.WithRev(rev-1)); err == nil || !strings.Contains(err.Error(), "compacted") {
		return "", errors.Join(fmt.Errorf("revision %d still exists", rev-1), err)
	}
	return fmt.Sprintf("revisions below %d are gone, %s was stopped meanwhile", rev, victim.Name), nil
}

// write writes to the store, and tries again if there is no answer.
func (n *nemesis) write(what string, do func(context.Context) error) {
	n.t.Helper()
	var err error
	if !cluster.Within(20*time.Second, func() bool {
		ctx, cancel := context.WithTimeout(n.t.Context(), 3*time.Second)
		defer cancel()
		err = do(ctx)
		return err == nil
	}) {
		n.t.Errorf("%s: %v", what, err)
	}
}
