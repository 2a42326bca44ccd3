package node

import (
	"context"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/cmd/rota/internal/admission"
	"github.com/rota-scheduler/rota/store"
	"github.com/rota-scheduler/rota/store/embedded"
	"github.com/rota-scheduler/rota/test/ports"
)

// A replica that waits for the acceptance of its store ends if its etcd member ends. Otherwise it would wait for ever.
func TestAReplicaThatWaitsEndsWithItsMember(t *testing.T) {
	t.Parallel()
	set := settings(t, "q1")
	others := []embedded.Config{{Name: "q2"}, {Name: "q3"}}
	set.Etcd.Embedded.Cluster = "q1=" + set.Etcd.Embedded.Peer
	for i := range others {
		others[i].Dir, others[i].Client, others[i].NoSync = t.TempDir(), "http://127.0.0.1:0", true
		others[i].Peer = "http://" + ports.Addr(t)
		set.Etcd.Embedded.Cluster += "," + others[i].Name + "=" + others[i].Peer
	}
	m, err := admission.OpenMemory(set.Node.DataDir)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Keep(store.Observation{Cluster: "a", Revision: 7}); err != nil {
		t.Fatal(err)
	}
	started := make(chan *embedded.Server, len(others))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for _, cfg := range others {
		cfg.Cluster = set.Etcd.Embedded.Cluster
		go func() {
			s, err := embedded.Start(ctx, cfg, hclog.NewNullLogger())
			if err != nil {
				t.Error(err)
			}
			started <- s
		}()
	}
	r := launch(t, Config{Settings: set, Version: version})
	servers := []*embedded.Server{<-started, <-started}
	for _, s := range servers {
		if s == nil {
			t.FailNow()
		}
		defer func() { _ = s.Close() }()
	}
	r.waits(t, "the store is a different one")
	eventually(t, "the others remove the member", func() bool { // etcd refuses it in the first seconds of a cluster
		id, known := servers[0].MemberID("q1")
		_, err := servers[0].Client().MemberRemove(ctx, id)
		return known && err == nil
	})
	r.stopped(t, "removed from the cluster")
}
