package store

import (
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// lives makes the events of runs of one job: each is armed, claimed and ended, and the history loses the run before it.
type lives struct {
	keys Keys
	rev  int64
	n    int
}

// next returns the events of n runs, each of another revision.
func (l *lives) next(t testing.TB, n int) (events []*clientv3.Event) {
	t.Helper()
	add := func(kind mvccpb.Event_EventType, key string, record any) {
		l.rev++
		kv := &mvccpb.KeyValue{Key: []byte(key), ModRevision: l.rev}
		if record != nil {
			var err error
			if kv.Value, err = encode(record); err != nil {
				t.Fatal(err)
			}
		}
		events = append(events, &clientv3.Event{Type: kind, Kv: kv})
	}
	for range n {
		l.n++
		armed := given(slot("backup", l.n), "w")
		key := l.keys.run(armed.Job, armed.ID)
		add(mvccpb.Event_PUT, key, armed)
		add(mvccpb.Event_PUT, l.keys.cursor(armed.Job), cursor(armed, 0))
		claimed, err1 := armed.Claim(l.rev, epoch)
		add(mvccpb.Event_PUT, key, &claimed)
		ended, err2 := claimed.Finish(job.Outcome{State: job.Succeeded, At: epoch.Add(time.Second)})
		add(mvccpb.Event_PUT, key, &ended)
		last := slot("backup", l.n-1)
		add(mvccpb.Event_DELETE, l.keys.run(last.Job, last.ID), nil)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
	}
	return events
}

// mirrored returns a mirror with one reader, and a function that applies events to it.
func mirrored(t testing.TB) (m *Mirror, apply func([]*clientv3.Event)) {
	m = NewMirror(open(t, fake(t, nil).Client()))
	f := m.Feed()
	return m, func(events []*clientv3.Event) {
		m.apply(events[len(events)-1].Kv.ModRevision, events)
		f.Take()
	}
}

// BenchmarkMirror applies the changes that one run makes, from its arming to its removal.
func BenchmarkMirror(b *testing.B) {
	m, apply := mirrored(b)
	l := &lives{keys: m.store.keys}
	b.ReportAllocs()
	const runs = 100
	for n := 0; n < b.N; n += runs {
		b.StopTimer()
		events := l.next(b, runs)
		b.StartTimer()
		apply(events)
	}
}

// TestAllocationsOfTheMirror bounds the allocations for the changes that one run makes.
func TestAllocationsOfTheMirror(t *testing.T) {
	const runs, rounds, most = 100, 10, 15
	m, apply := mirrored(t)
	l := &lives{keys: m.store.keys}
	var batches [][]*clientv3.Event
	for range rounds + 1 { // AllocsPerRun calls the function once more
		batches = append(batches, l.next(t, runs))
	}
	got := testing.AllocsPerRun(rounds, func() {
		apply(batches[0])
		batches = batches[1:]
	}) / runs
	if got > most {
		t.Errorf("got %.1f allocations for the changes of a run, want at most %d", got, most)
	} else {
		t.Logf("%.1f allocations for the changes of a run", got)
	}
	if run := m.records[KindRuns]; len(run) != 1 {
		t.Errorf("the mirror has %d runs, want the last one", len(run))
	}
}
