package store

import (
	"context"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// A snapshot has the keys of its records as etcdctl prints them, because reports name records by their keys.
func TestASnapshotNamesItsKeys(t *testing.T) {
	c := fake(t, nil).Client()
	s := open(t, c)
	if _, err := s.PutJob(within(t), definition("good")); err != nil {
		t.Fatal(err)
	}
	put(t, c, prefix+"/jobs/UPPER", "{}")
	put(t, c, prefix+"/unknown/x", "{}")
	put(t, c, prefix+"/unknown/x", "[]")
	records, _, err := s.Snapshot(within(t))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]job.Change{}
	for _, r := range records {
		found[r.Key] = r
	}
	good, upper, unknown := found[prefix+"/jobs/good"], found[prefix+"/jobs/UPPER"], found[prefix+"/unknown/x"]
	if good.Value == nil || good.Create == 0 || good.Create != good.Rev {
		t.Errorf("a definition: got %+v", good)
	}
	if upper.Kind != job.RecordJob || upper.Bad == nil {
		t.Errorf("a name that is none: got %+v", upper)
	}
	if unknown.Kind != "" || unknown.Bad == nil || unknown.Create == 0 || unknown.Create >= unknown.Rev {
		t.Errorf("a key of no kind: got %+v", unknown)
	}
}

// lateToken refuses the first requests of a watch, as a member of etcd does that does not know the token of the client yet.
type lateToken struct {
	clientv3.Watcher
	refusals int
}

func (w *lateToken) RequestProgress(ctx context.Context) error {
	if w.refusals > 0 {
		w.refusals--
		return rpctypes.ErrGRPCInvalidAuthToken
	}
	return w.Watcher.RequestProgress(ctx)
}

// TestTheLogIsReadWithALateToken reads the log at a member of etcd that learns the token of the client a moment later.
func TestTheLogIsReadWithALateToken(t *testing.T) {
	c := fake(t, nil).Client()
	s := open(t, c)
	if _, err := s.PutJob(within(t), definition("good")); err != nil {
		t.Fatal(err)
	}
	_, rev, err := s.Snapshot(within(t))
	if err != nil {
		t.Fatal(err)
	}
	late := &lateToken{Watcher: c.Watcher, refusals: 2}
	c.Watcher = late
	_, log, err := s.Log(within(t), rev)
	if err != nil || len(log) == 0 || late.refusals > 0 {
		t.Errorf("got %v, %d changes and %d refusals left, want the log after two refusals", err, len(log), late.refusals)
	}
}
