package store

import (
	"testing"

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
