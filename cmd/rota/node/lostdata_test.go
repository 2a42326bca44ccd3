package node

import (
	"testing"

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
