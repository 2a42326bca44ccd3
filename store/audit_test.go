package store

import (
	"context"
	"fmt"
	"math"
	"strings"
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
	_, log, err := s.Log(within(t), rev, BriefLog)
	if err != nil || len(log) == 0 || late.refusals > 0 {
		t.Errorf("got %v, %d changes and %d refusals left, want the log after two refusals", err, len(log), late.refusals)
	}
}

// TestABriefLogIsBounded reads the log of a store with a long history. For a watch of the past, etcd reads everything since the
// start of the watch at once, while no write is applied.
func TestABriefLogIsBounded(t *testing.T) {
	c := fake(t, nil).Client()
	s := open(t, c)
	long := strings.Repeat("x", 256<<10)
	for range 3 * BriefLog / len(long) {
		put(t, c, prefix+"/jobs/UPPER", long)
	}
	rev := revision(t, c)
	from, log, err := s.Log(within(t), rev, BriefLog)
	if err != nil {
		t.Fatal(err)
	}
	if read := len(log) * len(long); read < BriefLog || read > 2*BriefLog {
		t.Errorf("read %d MiB of the log, want a part of it", read>>20)
	}
	wantRevisions(t, log, from, rev)
	from, log, err = s.Log(within(t), rev, math.MaxInt)
	if err != nil || from != 1 {
		t.Errorf("got %v, all changes from revision %d, want 1", err, from)
	}
	if n := 3 * BriefLog / len(long); len(log) != n {
		t.Errorf("got %d changes of all, want %d", len(log), n)
	}
}

// TestALogWithLargeOldRevisionsIsBounded has many small revisions after large ones.
func TestALogWithLargeOldRevisionsIsBounded(t *testing.T) {
	c := fake(t, nil).Client()
	s := open(t, c)
	long := strings.Repeat("x", 32<<10)
	for range 2000 {
		put(t, c, prefix+"/jobs/UPPER", long)
	}
	const small = 4100 // 16 and then up to maxSpan at a time, they do not count as enough
	for range small {
		put(t, c, prefix+"/jobs/UPPER", "x")
	}
	rev := revision(t, c)
	from, log, err := s.Log(within(t), rev, BriefLog)
	if err != nil {
		t.Fatal(err)
	}
	if large := len(log) - small; large <= 0 || large > maxSpan {
		t.Errorf("read %d of the large revisions, want at most %d", large, maxSpan)
	}
	wantRevisions(t, log, from, rev)
}

// TestTheLogIsReadToItsStart reads a log in several parts, and then what a compaction left of it.
func TestTheLogIsReadToItsStart(t *testing.T) {
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s := open(t, c)
		for i := range 1000 {
			put(t, c, prefix+"/jobs/UPPER", fmt.Sprint(i))
		}
		rev := revision(t, c)
		first := rev - 999
		for _, compacted := range []int64{0, first + 100, rev} {
			if compacted > 0 {
				if _, err := c.Compact(within(t), compacted); err != nil {
					t.Fatal(err)
				}
			}
			from, log, err := s.Log(within(t), rev, BriefLog)
			if err != nil || from != max(1, compacted) {
				t.Fatalf("compacted at %d: got %v, the log from %d", compacted, err, from)
			}
			wantRevisions(t, log, max(first, compacted), rev)
		}
	})
}

// revision returns the revision of etcd.
func revision(t *testing.T, c *clientv3.Client) int64 {
	t.Helper()
	resp, err := c.Get(within(t), "x", clientv3.WithCountOnly())
	if err != nil {
		t.Fatal(err)
	}
	return resp.Header.Revision
}

// wantRevisions checks that a log has one change of each revision.
func wantRevisions(t *testing.T, log [][]job.Change, from, upTo int64) {
	t.Helper()
	for _, batch := range log {
		if len(batch) != 1 || batch[0].Rev != from {
			t.Fatalf("got %+v, want one change of revision %d", batch, from)
		}
		from++
	}
	if from != upTo+1 {
		t.Errorf("the log ends before revision %d, want %d", from, upTo+1)
	}
}
