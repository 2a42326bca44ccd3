package store

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestReadsOfRunsEqualAFullScan changes records of runs at random, edits by hand included. Every way to read runs
// must have the same answer as a list of whole records.
func TestReadsOfRunsEqualAFullScan(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test that repeats
	now := time.Now().UTC().Truncate(time.Second)
	s := open(t, fake(t, nil).Client())
	m := NewMirror(s)
	feed := m.Feed()
	want, fed := map[string]*job.Run{}, map[string]*job.Run{}
	delayed := 0
	for rev := int64(2); rev < 3000; rev++ {
		r := &job.Run{
			Job: oneOf(random, "a", "b"), ID: fmt.Sprint(random.IntN(60)), Kind: oneOf(random, job.KindDelayed, job.KindDelayed, job.KindManual),
			Slot: now.Add(time.Duration(random.IntN(50)) * time.Second), Due: now.Add(time.Duration(random.IntN(100_000)-1000) * time.Second),
			State:  oneOf(random, job.Pending, job.Pending, job.Pending, job.Running, job.Canceled),
			Reason: oneOf(random, job.ReasonNotYet, job.ReasonNotYet, job.ReasonNew, "limit x"), Created: now, Key: oneOf(random, "", "k"),
		}
		switch r.State {
		case job.Running:
			r.Worker, r.Attempt = "w", 1
		case job.Canceled:
			r.Finished = now
		case job.Pending:
			r.Attempt = random.IntN(4) / 3
			if random.IntN(4) == 0 {
				r.Cancel = &job.Cancel{At: now}
			}
		}
		name := r.Name()
		ev := &clientv3.Event{Kv: &mvccpb.KeyValue{Key: []byte(s.keys.run(r.Job, r.ID)), ModRevision: rev}}
		if random.IntN(5) == 0 {
			ev.Type = clientv3.EventTypeDelete
			delete(want, name)
		} else {
			value, err := encode(r)
			if err != nil {
				t.Fatal(err)
			}
			ev.Kv.Value, r.Rev, want[name] = value, rev, r
		}
		m.apply(rev, []*clientv3.Event{ev})
		for _, c := range feed.Take() {
			if _, ok := c.Value.(*job.Delayed); ok {
				delayed++
			}
			if fed[c.Name] = job.ValueOf[job.Run](c); fed[c.Name] == nil {
				delete(fed, c.Name)
			}
		}
		if got, ok := m.Run(name); ok != (want[name] != nil) || ok && !reflect.DeepEqual(got, want[name]) {
			t.Fatalf("revision %d: got run %+v, want %+v", rev, got, want[name])
		}
		if rev%50 == 0 {
			if diff := difference(want, fed); diff != "" {
				t.Fatalf("revision %d: the feed differs (-want +got):\n%s", rev, diff)
			}
			compareReads(t, m, want, random, now)
		}
	}
	if delayed < 500 {
		t.Errorf("only %d changes came as a job.Delayed", delayed)
	}
}

// difference returns "" if both are equal. cmp.Diff would take minutes for all of them.
func difference(want, got any) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got)
}

func oneOf[T any](random *rand.Rand, list ...T) T { return list[random.IntN(len(list))] }

// compareReads compares the answers of m with want, all runs by name.
func compareReads(t *testing.T, m *Mirror, want map[string]*job.Run, random *rand.Rand, now time.Time) {
	t.Helper()
	byName := func(a, b *job.Run) int { return strings.Compare(a.Name(), b.Name()) }
	accept := func(r *job.Run) bool { return r.State == job.Pending || r.Attempt > 0 }
	all := slices.SortedFunc(maps.Values(want), byName)
	accepted := slices.DeleteFunc(slices.Clone(all), func(r *job.Run) bool { return !accept(r) })
	if diff := difference(accepted, slices.SortedFunc(slices.Values(m.RunsThat(accept)), byName)); diff != "" {
		t.Fatalf("RunsThat differs (-want +got):\n%s", diff)
	}
	for _, by := range []time.Time{{}, now} {
		due := slices.DeleteFunc(slices.Clone(accepted), func(r *job.Run) bool { return r.Delay() != nil && r.Due.After(by) })
		if diff := difference(due, slices.SortedFunc(slices.Values(m.RunsDue(by, accept)), byName)); diff != "" && len(due) > 0 {
			t.Fatalf("RunsDue differs (-want +got):\n%s", diff)
		}
	}
	of := slices.DeleteFunc(slices.Clone(all), func(r *job.Run) bool { return r.Job != "a" })
	slices.SortFunc(of, newestSlot)
	if diff := difference(of, m.Runs("a", Always, nil)); diff != "" && len(of) > 0 {
		t.Fatalf("Runs differs (-want +got):\n%s", diff)
	}
	n := 1 + random.IntN(30)
	if diff := difference(accepted[:min(n, len(accepted))], m.FirstRuns("", n, Always, byName, accept)); diff != "" && len(accepted) > 0 {
		t.Fatalf("the first %d runs differ (-want +got):\n%s", n, diff)
	}
	counts := newTally()
	for _, r := range all {
		counts.change(nil, r)
	}
	full := Mirror{tally: counts}
	if diff := difference(full.CountRuns(now), m.CountRuns(now)); diff != "" {
		t.Fatalf("CountRuns differs (-want +got):\n%s", diff)
	}
	names := m.JobsOfRuns()
	for _, r := range all {
		if !slices.Contains(names, r.Job) {
			t.Fatalf("JobsOfRuns has %v, and lacks %s", names, r.Job)
		}
	}
}

// TestListSharesRecordsThatTheMirrorHas bounds the memory of a list that replaces a watch: only records that have changed are new.
func TestListSharesRecordsThatTheMirrorHas(t *testing.T) {
	s := open(t, fake(t, nil).Client())
	m := NewMirror(s)
	kv := &mvccpb.KeyValue{Key: []byte(s.keys.run("j", "1")), Value: []byte(`{"job":"j","id":"1","state":"skipped"}`), ModRevision: 7}
	list := func() any {
		m.begin()
		m.page([]*mvccpb.KeyValue{kv})
		staged := m.staged[0][0].record.value
		m.reset(kv.ModRevision)
		return staged
	}
	first := list()
	if again := list(); again != first {
		t.Error("the second list has another copy of a record that has not changed")
	}
	kv.Value, kv.ModRevision = []byte(`{"job":"j","id":"1","state":"canceled"}`), 8
	list()
	if r, ok := m.Run("j/1"); !ok || r.State != job.Canceled || r.Rev != 8 {
		t.Errorf("after a change: got %+v, want the canceled run", r)
	}
	m.begin()
	m.reset(9)
	if _, ok := m.Run("j/1"); ok {
		t.Error("a run that is missing in the list is still there")
	}
}

// TestAMirrorKnowsThatAJobIsGone checks that only a mirror of the given revision says so. An unreadable record is a record.
func TestAMirrorKnowsThatAJobIsGone(t *testing.T) {
	s := open(t, fake(t, nil).Client())
	m := following(t, s)
	j, err := s.PutJob(within(t), definition("j"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteJob(within(t), "j", j.Rev); err != nil {
		t.Fatal(err)
	}
	catchUp(t, s, m)
	rev, _ := m.Current()
	if !m.NoJob("j", rev) || m.NoJob("j", rev+1) {
		t.Errorf("at revision %d: got %v, and of a later revision %v", rev, m.NoJob("j", rev), m.NoJob("j", rev+1))
	}
	if _, err := s.client.Put(within(t), s.keys.job("j"), "garbage"); err != nil {
		t.Fatal(err)
	}
	catchUp(t, s, m)
	if m.NoJob("j", rev) {
		t.Error("an unreadable definition counts as gone")
	}
}
