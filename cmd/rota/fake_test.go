package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/attention"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/timeline"
)

// fakeCluster is a cluster in memory. Each read of a run moves the run one step forward. The name of the job decides how its runs
// end.
type fakeCluster struct {
	mu    sync.Mutex
	rev   int64
	jobs  map[string]api.JobView
	runs  map[string]job.Run
	limit map[string]api.LimitView
	gate  *job.Pause
	touch string // name of a job; the next write to it fails, as if another client had changed the job

	backfills map[string]api.BackfillView

	fail int // the number of reads of a run that fail next

	entries   []timeline.Entry // of the timeline; nil: an example
	timelines atomic.Int32     // how often the timeline was read
}

func newFakeCluster() *fakeCluster {
	f := &fakeCluster{rev: 100, backfills: map[string]api.BackfillView{}, jobs: map[string]api.JobView{}, runs: map[string]job.Run{}, limit: map[string]api.LimitView{}}
	now := time.Now().UTC()
	for _, name := range []string{"ok", "fails", "web", "slow", "hangs", "flaky"} {
		f.put(name, job.Spec{Schedule: []string{"30 2 * * *"}, Timezone: "Europe/Berlin", Command: []string{"true"}}, job.Origin{Kind: job.OriginAPI})
	}
	v := f.jobs["web"]
	v.Spec.Command, v.Spec.HTTP = nil, &job.HTTP{URL: "http://billing.internal/charge"}
	f.jobs["web"] = v
	f.put("filed", job.Spec{Every: job.Duration(time.Minute), Command: []string{"true"}}, job.Origin{Kind: job.OriginFile, Source: "/etc/rota/jobs.d/a.yaml"})

	for _, name := range []string{"web", "fails"} {
		v = f.jobs[name]
		v.Spec.Labels = map[string]string{"team": "a"}
		f.jobs[name] = v
	}
	v = f.jobs["ok"]
	next := now.Add(3*time.Minute + 30*time.Second)
	v.Next, v.Spec.Description = &next, "does well"
	v.Last = &api.LastRun{Ref: "ok/2026-01-31T01:30:00Z", State: job.Succeeded, Finished: now.Add(-150 * time.Minute)}
	f.jobs["ok"] = v
	one, three := 1, 3
	f.runs["ok/2026-01-31T01:30:00Z"] = job.Run{
		Job: "ok", ID: "2026-01-31T01:30:00Z", Kind: job.KindScheduled, State: job.Succeeded,
		Slot: time.Date(2026, 1, 31, 1, 30, 0, 0, time.UTC), Attempt: 2, Worker: "w1", Token: 42,
		Started: now.Add(-151 * time.Minute), Finished: now.Add(-150 * time.Minute), Output: "done\n",
		Attempts: []job.Attempt{
			{Number: 1, Worker: "w1", Token: 40, Started: now.Add(-152 * time.Minute), Finished: now.Add(-151 * time.Minute), State: job.Failed, Reason: "exit code 1", Exit: &one},
			{Number: 2, Worker: "w1", Token: 42, Started: now.Add(-151 * time.Minute), Finished: now.Add(-150 * time.Minute), State: job.Succeeded},
		},
	}
	f.runs["fails/2026-01-30T01:30:00Z"] = job.Run{
		Job: "fails", ID: "2026-01-30T01:30:00Z", Kind: job.KindScheduled, State: job.Failed, Exit: &three, Reason: "exit code 3",
		Slot: time.Date(2026, 1, 30, 1, 30, 0, 0, time.UTC), Attempt: 1, Worker: "w1", Finished: now,
	}
	return f
}

func (f *fakeCluster) backend() api.Backend {
	return api.Backend{Replica: f, Logs: f, Labels: f.labels}
}

func (f *fakeCluster) labels(name string) map[string]string {
	v, err := f.Job(context.Background(), name)
	if err != nil {
		return nil
	}
	return v.Spec.Labels
}

func (f *fakeCluster) touchOnPut(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.touch = name
}

func (f *fakeCluster) failReads(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = n
}

func (f *fakeCluster) put(name string, spec job.Spec, origin job.Origin) api.JobView {
	f.rev++
	v := api.JobView{Job: job.Job{Name: name, Origin: origin, Generation: 1, Spec: new(spec.WithDefaults())}, Revision: f.rev}
	f.jobs[name] = v
	return v
}

func (f *fakeCluster) Cluster(context.Context) (api.ClusterView, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var items []attention.Item
	if f.gate != nil {
		items = append(items, attention.Item{Kind: attention.Paused, Since: f.gate.At, Text: "All jobs are paused.", Next: "rota resume --all"})
	}
	return api.ClusterView{
		Attention: items, Tolerated: new(int), Members: []api.MemberView{
			{Name: "q1", State: "present"}, {Name: "q2", State: "present"},
			{Name: "q3", State: "missing", Since: time.Date(2026, 1, 31, 10, 49, 5, 0, time.UTC)},
			{Name: "q4", State: "missing"},
		},
		Name: "/rota", Node: "q1", Version: "v1", Ready: true, Jobs: len(f.jobs), Workers: 1, Paused: f.gate,
		Leader:   &api.LeaderView{Node: "q2", Term: 12, Since: time.Now().Add(-5 * time.Minute)},
		Replicas: []api.ReplicaView{{Replica: job.Replica{Name: "q1"}}, {Replica: job.Replica{Name: "q2"}, Leader: true}},
		Store:    api.StoreView{Revision: 100, Members: []string{"http://e1:2379", "http://e2:2379"}, Unavailable: []string{"http://e2:2379"}},
		Files:    api.FilesView{Hash: "0123456789abcdef", By: "q2", Agree: false, Notes: []string{"q1 has read other files"}},
		Quarantined: []api.QuarantineView{
			{Key: "/rota/jobs/odd", Revision: 7, Error: "read job odd: invalid character"},
		},
	}, nil
}

func (f *fakeCluster) Jobs(context.Context) ([]api.JobView, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var jobs []api.JobView
	for _, name := range slices.Sorted(maps.Keys(f.jobs)) {
		jobs = append(jobs, f.active(f.jobs[name]))
	}
	return jobs, nil
}

func (f *fakeCluster) Job(_ context.Context, name string) (api.JobView, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	v, ok := f.jobs[name]
	if !ok {
		return v, job.ErrNotFound
	}
	return f.active(v), nil
}

func (f *fakeCluster) Runs(_ context.Context, q api.RunQuery) ([]api.RunView, error) {
	f.mu.Lock()
	var runs []api.RunView
	for _, r := range f.runs {
		if q.Includes(&r) {
			runs = append(runs, api.NewRunView(r))
		}
	}
	f.mu.Unlock()
	runs = slices.DeleteFunc(runs, func(v api.RunView) bool { return !q.Shows(v.Job) })
	slices.SortFunc(runs, func(a, b api.RunView) int { return api.CompareRuns(&a.Run, &b.Run) })
	return runs[:min(q.Limit, len(runs))], nil
}

func (f *fakeCluster) Run(_ context.Context, jobName, id string) (api.RunView, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, ok := f.runs[jobName+"/"+id]
	if !ok {
		return api.RunView{}, job.ErrNotFound
	}
	if f.fail > 0 {
		f.fail--
		return api.RunView{}, api.ErrUnavailable
	}
	r = f.step(r)
	f.runs[r.Name()] = r
	return api.NewRunView(r), nil
}

func (f *fakeCluster) Workers(context.Context) ([]api.WorkerView, error) {
	return []api.WorkerView{{Worker: job.Worker{Name: "w1", Capacity: 64, Labels: map[string]string{"zone": "a", "disk": "fast"}, Started: time.Now()}, Running: 1, Free: 63}}, nil
}

func (f *fakeCluster) Next(ctx context.Context, name string, from time.Time, n int) (api.NextView, error) {
	v, err := f.Job(ctx, name)
	if err != nil {
		return api.NextView{}, err
	}
	return api.NextView{Slots: upcoming(name, v.Spec, from, n), Notes: []string{"computed by the cluster"}}, nil
}

func (f *fakeCluster) Explain(ctx context.Context, name string, at time.Time) (api.ExplainView, error) {
	if _, err := f.Job(ctx, name); err != nil {
		if _, err := f.Run(ctx, name, job.SlotID(at)); err != nil { // runs remain after their job was deleted
			return api.ExplainView{}, job.ErrNotFound
		}
	}
	return api.ExplainView{Job: name, Asked: at, Slot: &at, Verdict: "ran", State: job.Succeeded, Text: []string{"It ran."}}, nil
}

func (f *fakeCluster) Put(_ context.Context, kind, name string, text []byte, pre api.Precondition, by string) (any, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if kind == api.KindLimit {
		return f.putLimit(name, text, pre, by)
	}
	f.disturb(name)
	old, exists := f.jobs[name]
	switch {
	case exists && old.Origin.Kind == job.OriginFile:
		return nil, false, api.OwnedByFile(kind, name, old.Origin.Source)
	case !pre.Holds(old.Revision):
		return nil, false, fmt.Errorf("job %s: %w", name, job.ErrConflict)
	}
	spec, err := config.ParseJob(name, text, func(string, string) (bool, error) { return true, nil })
	if err != nil {
		return nil, false, err
	}
	return f.put(name, spec, job.Origin{Kind: job.OriginAPI}), !exists, nil
}

func (f *fakeCluster) disturb(name string) {
	if f.touch == name {
		v := f.jobs[name]
		f.put(name, *v.Spec, v.Origin)
		f.touch = ""
	}
}

func (f *fakeCluster) Delete(_ context.Context, kind, name string, pre api.Precondition, _ string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if kind == api.KindLimit {
		return f.deleteLimit(name, pre)
	}
	f.disturb(name)
	if !pre.Holds(f.jobs[name].Revision) {
		return fmt.Errorf("job %s: %w", name, job.ErrConflict)
	}
	delete(f.jobs, name)
	return nil
}

func (f *fakeCluster) PauseJob(_ context.Context, name string, p *job.Pause) (api.JobView, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	v, ok := f.jobs[name]
	if !ok {
		return v, job.ErrNotFound
	}
	v.Paused = p
	f.jobs[name] = v
	return v, nil
}

func (f *fakeCluster) PauseAll(_ context.Context, p *job.Pause) (job.Gate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gate = p
	return job.Gate{Paused: p}, nil
}

func (f *fakeCluster) Limits(context.Context) (list []api.LimitView, _ error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(f.limit)) {
		list = append(list, f.limit[name])
	}
	return list, nil
}

func (f *fakeCluster) putLimit(name string, text []byte, pre api.Precondition, by string) (any, bool, error) {
	old, known := f.limit[name]
	if !pre.Holds(old.Revision) {
		return nil, false, job.ErrConflict
	}
	spec, err := config.ParseLimit(name, text)
	if err != nil {
		return nil, false, err
	}
	f.rev++
	v := api.LimitView{Limit: job.Limit{Name: name, Generation: 1, Origin: job.Origin{Kind: job.OriginAPI, Source: by}, Spec: spec}, Revision: f.rev}
	f.limit[name] = v
	return v, !known, nil
}

func (f *fakeCluster) deleteLimit(name string, pre api.Precondition) error {
	if !pre.Holds(f.limit[name].Revision) {
		return job.ErrConflict
	}
	delete(f.limit, name)
	return nil
}
