package sim

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store/mem"
	"github.com/rota-scheduler/rota/test/history"
)

// recorder keeps every version of every key, over a link without faults.
type recorder struct {
	client *clientv3.Client
	done   chan struct{} // closed when the watch has ended

	mu       sync.Mutex
	versions []history.Version           // guarded by mu
	open     map[string]job.Run          // guarded by mu: runs that have not ended, by name
	cursors  map[string]job.Cursor       // guarded by mu
	jobs     map[string]job.Job          // guarded by mu
	leases   map[string]clientv3.LeaseID // guarded by mu, by key
	ended    map[string]job.State        // guarded by mu: runs that have ended, by name
	past     map[string]bool             // guarded by mu: runs of backfills, by name
	filled   []job.Backfill              // guarded by mu: every version of the backfill
}

func newRecorder(server *mem.Server) *recorder {
	r := &recorder{
		client: server.Client(), done: make(chan struct{}), open: make(map[string]job.Run), cursors: make(map[string]job.Cursor),
		jobs: make(map[string]job.Job), leases: make(map[string]clientv3.LeaseID), ended: make(map[string]job.State), past: make(map[string]bool),
	}
	watch := r.client.Watch(context.Background(), prefix+"/", clientv3.WithPrefix(), clientv3.WithRev(1))
	go func() { // the goroutine ends with the client
		defer close(r.done)
		for resp := range watch {
			r.record(resp.Events)
		}
	}()
	return r
}

func (r *recorder) close() {
	_ = r.client.Close() // always context.Canceled
	<-r.done
}

func (r *recorder) record(events []*clientv3.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for _, ev := range events {
		v := history.Version{
			Key: string(ev.Kv.Key), Value: ev.Kv.Value, Rev: ev.Kv.ModRevision, Create: ev.Kv.CreateRevision, Seen: now,
			Deleted: ev.Type == clientv3.EventTypeDelete,
		}
		r.versions = append(r.versions, v)
		delete(r.leases, v.Key)
		if ev.Kv.Lease != 0 {
			r.leases[v.Key] = clientv3.LeaseID(ev.Kv.Lease)
		}
		kind, name, _ := strings.Cut(strings.TrimPrefix(v.Key, prefix+"/"), "/")
		switch kind {
		case "runs":
			r.recordRun(name, v)
		case "jobs":
			var j job.Job
			if delete(r.jobs, name); !v.Deleted && json.Unmarshal(v.Value, &j) == nil {
				r.jobs[name] = j
			}
		case "backfills":
			var b job.Backfill
			if !v.Deleted && json.Unmarshal(v.Value, &b) == nil {
				r.filled = append(r.filled, b)
			}
		case "cursors":
			var c job.Cursor
			if delete(r.cursors, name); !v.Deleted && json.Unmarshal(v.Value, &c) == nil {
				r.cursors[name] = c
			}
		}
	}
}

func (r *recorder) recordRun(name string, v history.Version) {
	delete(r.open, name)
	var run job.Run
	if v.Deleted || json.Unmarshal(v.Value, &run) != nil {
		return
	}
	if run.Kind == job.KindBackfill {
		r.past[name] = true
	}
	if run.State.Terminal() {
		r.ended[name] = run.State
		return
	}
	r.open[name] = run
}

// leased lists, sorted, the keys on leases with a prefix.
func (r *recorder) leased(kind string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var keys []string
	for key := range r.leases {
		if strings.HasPrefix(key, prefix+"/"+kind) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

func (r *recorder) lease(key string) clientv3.LeaseID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.leases[key]
}

// live lists the runs that have not ended, sorted by name.
func (r *recorder) live() []job.Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	runs := make([]job.Run, 0, len(r.open))
	for _, name := range slices.Sorted(maps.Keys(r.open)) {
		runs = append(runs, r.open[name])
	}
	return runs
}

// definitions returns the jobs in the store, sorted by name.
func (r *recorder) definitions() []job.Job {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]job.Job, 0, len(r.jobs))
	for _, name := range slices.Sorted(maps.Keys(r.jobs)) {
		list = append(list, r.jobs[name])
	}
	return list
}

func (r *recorder) cursor(name string) (job.Cursor, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, ok := r.cursors[name]
	return c, ok
}

// ofBackfills returns the names of the runs that backfills have created.
func (r *recorder) ofBackfills() map[string]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.past)
}

// backfillVersions returns every version of the backfill of the only job that has one.
func (r *recorder) backfillVersions() []job.Backfill {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.filled)
}

func (r *recorder) history() []history.Version {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.versions)
}

// became returns the final state of a run; false if it has not ended.
func (r *recorder) became(name string) (job.State, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.ended[name]
	return s, ok
}
