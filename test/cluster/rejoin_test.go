package cluster

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestRejoin kills replicas under load and deletes their data, leaders and followers in turn. Each one joins the cluster again
// by itself. The others answer all the time, there is one cluster, and no slot is missed. ROTA_REJOINS is the number of members
// that are lost.
func TestRejoin(t *testing.T) {
	row(t)
	t.Parallel()
	sink := NewSink(t)
	jobs := sink.Posts(20, job.Spec{Jitter: job.Duration(time.Second), Overlap: job.OverlapAllow})
	c := Start(t, Config{Binary: binary, Jobs: jobs, Flags: func(string) []string { return []string{"--etcd-embedded-rejoin=auto"} }})
	began := c.members(t)
	members := map[uint64]bool{}
	for _, m := range began.Members {
		members[m.ID] = true
	}
	victims := []struct {
		name   string
		choose func() *Node
	}{
		{"the leader", c.Leader},
		{"the replica whose member leads etcd", c.StoreLeader},
		{"another", func() *Node {
			leader, store := c.Leader(), c.StoreLeader()
			for _, n := range c.replicas {
				if n != leader && n != store {
					return n
				}
			}
			return leader
		}},
	}
	for i := range fromEnv("ROTA_REJOINS", len(victims)) {
		v := victims[i%len(victims)]
		n := v.choose()
		t.Logf("%d: %s, %s, loses its data", i+1, n.Name, v.name)
		n.Kill()
		lost := time.Now()
		if err := os.RemoveAll(filepath.Join(c.Dir, n.Name)); err != nil {
			t.Fatal(err)
		}
		c.awaitStoreLeader(n) // the others are a majority
		n.Start()
		n.WaitReady()
		now := c.members(t)
		fresh := 0
		for _, m := range now.Members {
			if m.IsLearner {
				t.Errorf("member %s is ready and does not vote", m.Name)
			}
			if !members[m.ID] {
				fresh++
				members[m.ID] = true
			}
		}
		if now.Header.ClusterId != began.Header.ClusterId || len(now.Members) != len(c.replicas) || fresh != 1 {
			t.Errorf("got cluster %x of %d members, %d of them new; want %x of %d, and one new",
				now.Header.ClusterId, len(now.Members), fresh, began.Header.ClusterId, len(c.replicas))
		}
		t.Logf("%s was ready again after %v", n.Name, time.Since(lost).Round(100*time.Millisecond))
		c.WaitReady()
	}
	c.Check(sink.Requests, nil, nil)
}

// members returns the members of the embedded etcd in the view of its majority.
func (c *Cluster) members(t *testing.T) (resp *clientv3.MemberListResponse) {
	t.Helper()
	Await(t, 20*time.Second, "the majority lists its members", func() (ok bool) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		var err error
		resp, err = c.Recorder.client.MemberList(ctx)
		return err == nil
	})
	return resp
}
