package node

import (
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/cmd/rota/internal/admission"
	"github.com/rota-scheduler/rota/store"
	"github.com/rota-scheduler/rota/test/ports"
)

// TestAMemberThatLostItsDataStartsNoCluster checks that etcd does not start on a member that has lost its data. Otherwise it would
// start a second cluster, and vote there under its old name.
func TestAMemberThatLostItsDataStartsNoCluster(t *testing.T) {
	t.Parallel()
	set := settings(t, "q1")
	set.Etcd.Embedded.Cluster = "q1=" + set.Etcd.Embedded.Peer + ",q2=http://" + ports.Addr(t) + ",q3=http://" + ports.Addr(t)
	m, err := admission.OpenMemory(set.Node.DataDir)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Keep(store.Observation{Cluster: "a", Revision: 7}); err != nil {
		t.Fatal(err)
	}
	r := launch(t, Config{Settings: set, Version: version})
	r.stopped(t, m.Path()+" knows the cluster of member q1")
	if err := r.end(); IsConfig(err) {
		t.Errorf("got %v as one of configuration: the others may be there at the next start", err)
	}
}

// After the loss of its disk, a process has no memory of the store. It still does not use a backup in another cluster.
func TestANewProcessWaitsForTheAcceptanceOfABackup(t *testing.T) {
	t.Parallel()
	e := newRestorable(t)
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{e.endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Put(t.Context(), "/rota/era", `{"era":0,"cluster":"a1","at":"2026-11-28T00:00:00Z"}`); err != nil {
		t.Fatal(err)
	}
	r := launch(t, Config{Settings: outside(t, "q1", e.endpoint), Version: version})
	r.waits(t, "the data of etcd cluster a1 was restored into etcd cluster ")
	if v, err := r.AcceptRestored(t.Context()); err != nil || v.Era != 1 || v.Lost != 0 {
		t.Fatalf("accept: got %+v, %v", v, err)
	}
	r.node = <-r.up
	r.lead(t)
}
