package store

import (
	"sync/atomic"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/rota-scheduler/rota/store/mem"
)

// refusedReads refuses the first reads, as a member does whose leader has changed.
type refusedReads struct{ left atomic.Int64 }

func (r *refusedReads) Before(op mem.Op) mem.Verdict {
	if op.Kind == mem.Range && r.left.Add(-1) >= 0 {
		return mem.Verdict{Action: mem.Refuse, Err: rpctypes.ErrGRPCLeaderChanged}
	}
	return mem.Verdict{}
}

// TestAReadOutlivesAnElectionOfEtcd checks that a client gets no error because etcd has elected another leader during a read.
func TestAReadOutlivesAnElectionOfEtcd(t *testing.T) {
	faults := &refusedReads{}
	s := open(t, fake(t, faults).Client())
	if _, err := s.PutJob(within(t), definition("j")); err != nil {
		t.Fatal(err)
	}
	faults.left.Store(2)
	if j, err := s.Job(within(t), "j"); err != nil || j.Name != "j" {
		t.Errorf("got %q, error %v", j.Name, err)
	}
	if left := faults.left.Load(); left >= 0 {
		t.Errorf("%d reads were not refused", left+1)
	}
}
