package store

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// The records that these methods return are shared, and callers must not change them.

// Job returns a job's definition.
func (m *Mirror) Job(name string) (*job.Job, bool) {
	return lookup[*job.Job](m, KindJobs, name)
}

// NoJob reports whether a job has no record, readable or not, at revision rev or later.
func (m *Mirror) NoJob(name string, rev int64) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	_, there := m.records[KindJobs][name]
	return !there && m.rev >= rev
}

// Unreadable returns why a job's definition is unreadable, as a job.ErrUnreadable; nil if it is readable or does not exist.
func (m *Mirror) Unreadable(name string) error {
	if bad, ok := lookup[error](m, KindJobs, name); ok {
		return unreadable(m.store.keys.job(name), bad)
	}
	return nil
}

// UnreadableJob reports whether the definition of some job is unreadable.
func (m *Mirror) UnreadableJob() bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for key := range m.bad {
		if name, ok := strings.CutPrefix(key, m.store.keys.job("")); ok && job.CheckName(name) == nil {
			return true
		}
	}
	return false
}

// Cursor returns a job's cursor.
func (m *Mirror) Cursor(name string) (*job.Cursor, bool) {
	return lookup[*job.Cursor](m, KindCursors, name)
}

// NewestCursor returns the job whose cursor was written last, and the revision of that write; "" if there is no cursor.
func (m *Mirror) NewestCursor() (name string, rev int64) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for of, r := range m.records[KindCursors] {
		if r.rev > rev {
			name, rev = of, r.rev
		}
	}
	return name, rev
}

// Gate returns the cluster-wide pause; the zero Gate if it was never written. If it is unreadable, Gate returns the last readable
// one, and if there was none, a pause.
func (m *Mirror) Gate() job.Gate {
	if g, ok := lookup[*job.Gate](m, KindGate, ""); ok {
		return *g
	}
	if bad, ok := lookup[unreadableGate](m, KindGate, ""); ok {
		return *bad.gate
	}
	return job.Gate{}
}

// Limit returns a limit's definition.
func (m *Mirror) Limit(name string) (*job.Limit, bool) {
	return lookup[*job.Limit](m, KindLimits, name)
}

// Limits returns all limits by name.
func (m *Mirror) Limits() []*job.Limit {
	limits := collect[*job.Limit](m, KindLimits)
	slices.SortFunc(limits, func(a, b *job.Limit) int { return strings.Compare(a.Name, b.Name) })
	return limits
}

// HookJobs returns the jobs that have a hook of this name, sorted. There are several only if clients defined them at the same time,
// or if a file and a client did.
func (m *Mirror) HookJobs(hook string) []string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return slices.Sorted(slices.Values(m.hooks[hook]))
}

// Files returns which job files are in force.
func (m *Mirror) Files() job.Files {
	if f, ok := lookup[*job.Files](m, KindFiles, ""); ok {
		return *f
	}
	return job.Files{}
}

// Worker returns a worker's presence.
func (m *Mirror) Worker(name string) (*job.Worker, bool) {
	return lookup[*job.Worker](m, KindWorkers, name)
}

// Jobs returns all jobs by name.
func (m *Mirror) Jobs() []*job.Job {
	jobs := collect[*job.Job](m, KindJobs)
	slices.SortFunc(jobs, func(a, b *job.Job) int { return strings.Compare(a.Name, b.Name) })
	return jobs
}

// Steps returns the jobs that have parents, in no order, without visiting the others.
func (m *Mirror) Steps() []*job.Job {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return slices.Collect(maps.Values(m.steps))
}

// JobsThat returns the jobs that accept takes, in no order. To sort all jobs would take longer than the rest of a request.
func (m *Mirror) JobsThat(accept func(*job.Job) bool) (jobs []*job.Job) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, r := range m.records[KindJobs] {
		if j, ok := r.value.(*job.Job); ok && accept(j) {
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// Replicas reads the presence of all replicas from etcd. It leaves out unreadable records.
func (s *Store) Replicas(ctx context.Context) ([]*job.Replica, error) {
	return readAll[job.Replica](ctx, s, KindReplicas)
}

// Workers reads the workers from the store, for a process without a mirror.
func (s *Store) Workers(ctx context.Context) ([]*job.Worker, error) {
	return readAll[job.Worker](ctx, s, KindWorkers)
}

// readAll reads the records of a kind that can be read.
func readAll[T any](ctx context.Context, s *Store, kind Kind) (all []*T, err error) {
	prefix := s.keys.family(kind)
	kvs, _, err := s.list(ctx, prefix)
	for _, kv := range kvs {
		if v := job.ValueOf[T](decodeKV(kind, string(kv.Key[len(prefix):]), kv)); v != nil {
			all = append(all, v)
		}
	}
	return all, err
}

// Workers returns all workers by name.
func (m *Mirror) Workers() []*job.Worker {
	workers := collect[*job.Worker](m, KindWorkers)
	slices.SortFunc(workers, func(a, b *job.Worker) int { return strings.Compare(a.Name, b.Name) })
	return workers
}

// Replicas returns all replicas by name.
func (m *Mirror) Replicas() []*job.Replica {
	replicas := collect[*job.Replica](m, KindReplicas)
	slices.SortFunc(replicas, func(a, b *job.Replica) int { return strings.Compare(a.Name, b.Name) })
	return replicas
}

// Backfill returns the backfill of a job.
func (m *Mirror) Backfill(name string) (*job.Backfill, bool) {
	return lookup[*job.Backfill](m, KindBackfills, name)
}

// Backfills returns the backfills of all jobs, by job.
func (m *Mirror) Backfills() []*job.Backfill {
	all := collect[*job.Backfill](m, KindBackfills)
	slices.SortFunc(all, func(a, b *job.Backfill) int { return strings.Compare(a.Job, b.Job) })
	return all
}

// Quarantine returns the keys whose records are unreadable.
func (m *Mirror) Quarantine() []Bad {
	m.mu.RLock()
	defer m.mu.RUnlock()
	bad := make([]Bad, 0, len(m.bad))
	for _, b := range m.bad {
		bad = append(bad, b)
	}
	slices.SortFunc(bad, func(a, b Bad) int { return strings.Compare(a.Key, b.Key) })
	return bad
}

// CountJobs returns the number of jobs.
func (m *Mirror) CountJobs() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.records[KindJobs])
}

// NotifyingJobs returns the jobs that have notifiers or pings, in no order, without visiting the others.
func (m *Mirror) NotifyingJobs() []string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return slices.Collect(maps.Keys(m.notify))
}

// NotifyState returns what is recorded about the messages of a job; nil if nothing is.
func (m *Mirror) NotifyState(name string) *job.NotifyState {
	s, _ := lookup[*job.NotifyState](m, KindNotifyState, name)
	return s
}

func lookup[T any](m *Mirror, kind Kind, name string) (T, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	v, ok := m.records[kind][name].value.(T)
	return v, ok
}

func collect[T any](m *Mirror, kind Kind) []T {
	m.mu.RLock()
	defer m.mu.RUnlock()
	out := make([]T, 0, len(m.records[kind]))
	for _, r := range m.records[kind] {
		if v, ok := r.value.(T); ok {
			out = append(out, v)
		}
	}
	return out
}
