package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/attention"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/timeline"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a cluster in memory. If err is set, every method returns it.
type fake struct {
	mu      sync.Mutex
	err     error
	panics  bool
	rev     int64
	jobs    map[string]job.Job
	runs    map[string]job.Run
	gate    job.Gate
	oldest  int64              // events before this revision are compacted
	history [][]api.Event      // one entry per revision
	watches []chan []api.Event // one for each client that watches
	output  map[string]func(ctx context.Context, follow bool) (io.ReadCloser, error)
	explain func(ctx context.Context) (api.ExplainView, error)
	verify  func(ctx context.Context) (api.VerifyView, error)
	asked   api.Submission // the latest submission
	trail   []job.Audit    // in the order of time
	tokens  []auth.Token
	note    string // about the job files of q1

	backfills map[string]api.BackfillView
}

func newFake() *fake {
	f := &fake{rev: 100, backfills: map[string]api.BackfillView{}, jobs: map[string]job.Job{}, runs: map[string]job.Run{}, oldest: 1,
		output: map[string]func(context.Context, bool) (io.ReadCloser, error){}}
	f.putJob(job.Job{Name: "backup", Origin: job.Origin{Kind: job.OriginFile, Source: "jobs.yaml"}, Generation: 1, Spec: &job.Spec{Shell: "true"}})
	f.putJob(job.Job{Name: "report", Origin: job.Origin{Kind: job.OriginAPI}, Generation: 1, Spec: &job.Spec{Shell: "true"}})
	return f
}

func (f *fake) backend() api.Backend {
	return api.Backend{Replica: f, Overview: f, Events: f, Logs: f, Restorer: f, Trail: f, Tokens: f, Hooks: f, Importer: f, Examiner: f,
		Schemas: map[string]json.RawMessage{"Spec": config.RequestSchema(api.KindJob), "LimitSpec": config.RequestSchema(api.KindLimit)}}
}

func (f *fake) fail() error {
	if f.panics {
		panic("out of cheese")
	}
	return f.err
}

func (f *fake) putJob(j job.Job) job.Job {
	f.rev++
	j.Rev = f.rev
	f.jobs[j.Name] = j
	e, _ := api.Changed(api.KindJob, j.Name, f.rev, viewJob(j))
	f.publish(e)
	return j
}

func (f *fake) putRun(r job.Run) job.Run {
	f.rev++
	r.Rev = f.rev
	f.runs[r.Name()] = r
	e, _ := api.Changed(api.KindRun, r.Name(), f.rev, api.NewRunView(r))
	f.publish(e)
	return r
}

func (f *fake) publish(events ...api.Event) {
	f.history = append(f.history, events)
	for _, w := range f.watches {
		w <- events
	}
}

func viewJob(j job.Job) api.JobView { return api.JobView{Job: j, Revision: j.Rev} }

func (f *fake) Cluster(context.Context) (api.ClusterView, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	v := api.ClusterView{Name: "/rota", Node: "q1", Ready: true, Store: api.StoreView{Revision: f.rev}}
	if f.note != "" {
		v.Files.Notes = []string{f.note}
		r := job.Replica{Name: "q1", FilesNote: f.note, Undelivered: []job.Undelivered{{Notifier: f.note, Cause: f.note}}}
		v.Attention = append(attention.OfNotifiers([]*job.Replica{&r}), attention.Item{Kind: attention.Files, Text: f.note})
		v.Replicas = []api.ReplicaView{{Replica: r}}
	}
	return v, f.fail()
}

func (f *fake) Jobs(context.Context) ([]api.JobView, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []api.JobView
	for _, j := range f.jobs {
		all = append(all, viewJob(j))
	}
	slices.SortFunc(all, func(a, b api.JobView) int { return strings.Compare(a.Job.Name, b.Job.Name) })
	return all, f.fail()
}

func (f *fake) Job(_ context.Context, name string) (api.JobView, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	j, ok := f.jobs[name]
	if !ok {
		return api.JobView{}, fmt.Errorf("read job %s: %w", name, job.ErrNotFound)
	}
	return viewJob(j), f.fail()
}

func (f *fake) Runs(_ context.Context, q api.RunQuery) ([]api.RunView, error) {
	f.mu.Lock()
	var all []api.RunView
	for _, r := range f.runs {
		if q.Includes(&r) {
			all = append(all, api.NewRunView(r))
		}
	}
	f.mu.Unlock()
	all = slices.DeleteFunc(all, func(v api.RunView) bool { return !q.Shows(v.Job) })
	slices.SortFunc(all, func(a, b api.RunView) int { return api.CompareRuns(&a.Run, &b.Run) })
	return all[:min(len(all), q.Limit)], f.fail()
}

func (f *fake) Run(_ context.Context, jobName, id string) (api.RunView, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, ok := f.runs[jobName+"/"+id]
	if !ok {
		return api.RunView{}, fmt.Errorf("read run %s/%s: %w", jobName, id, job.ErrNotFound)
	}
	return api.NewRunView(r), f.fail()
}

func (f *fake) Timeline(_ context.Context, q timeline.Query) ([]timeline.Entry, error) {
	q.Since = time.Time{}
	at := time.Date(2026, 1, 31, 10, 49, 5, 0, time.UTC)
	if q.Part == timeline.OnlyRanges {
		return q.Latest([]timeline.Entry{{At: at, Kind: timeline.KindMissed, Job: "ok", Count: 3, Text: "3 slots of ok did not run: missed."}}), nil
	}
	return q.Latest([]timeline.Entry{
		{At: at, Kind: timeline.KindLostMember, Node: "q3", Text: "q3 died."},
		{At: at.Add(time.Second), Kind: timeline.KindRetried, Job: "ok", Run: "ok/x", Text: "Attempt 1 of ok/x on q3 was lost and is repeated."},
	}), nil
}

func (f *fake) Incident(_ context.Context, at time.Time) (timeline.Incident, error) {
	from := time.Date(2026, 1, 31, 10, 49, 5, 0, time.UTC)
	if at.Before(from) {
		return timeline.Incident{}, job.ErrNotFound
	}
	return timeline.Incident{From: from, Until: from.Add(16 * time.Second), Sentences: []string{"q3 died at 10:49:05Z; q2 took over in 42 ms."}}, nil
}

func (f *fake) Workers(context.Context) ([]api.WorkerView, error) {
	return []api.WorkerView{{Worker: job.Worker{Name: "w1", Capacity: 4}, Running: 1, Free: 3}}, f.fail()
}

func (f *fake) Next(ctx context.Context, name string, from time.Time, n int) (api.NextView, error) {
	if _, err := f.Job(ctx, name); err != nil {
		return api.NextView{}, err
	}
	var v api.NextView
	for i := range n {
		v.Slots = append(v.Slots, from.Truncate(time.Hour).Add(time.Duration(i+1)*time.Hour))
	}
	return v, nil
}

func (f *fake) Month(ctx context.Context, name string, year int, month time.Month) (api.MonthView, error) {
	v := api.MonthView{Job: name, Month: fmt.Sprintf("%d-%02d", year, month), Zone: "UTC"}
	_, err := f.Job(ctx, name)
	return v, err
}

func (f *fake) Workflow(ctx context.Context, name, id string) (api.WorkflowView, error) {
	v, err := f.Job(ctx, name)
	if err != nil {
		return api.WorkflowView{}, err
	}
	return api.WorkflowView{Job: name, ID: id, Steps: []api.StepView{{Job: name, After: append([]job.After{}, v.Spec.After...)}}}, nil
}

func (f *fake) WorkflowRuns(ctx context.Context, name string, _ int) (api.WorkflowRunsView, error) {
	_, err := f.Job(ctx, name)
	return api.WorkflowRunsView{Job: name, Steps: []string{name}}, err
}

func (f *fake) Explain(ctx context.Context, name string, at time.Time) (api.ExplainView, error) {
	if f.explain != nil {
		return f.explain(ctx)
	}
	if _, err := f.Job(ctx, name); err != nil {
		return api.ExplainView{}, err
	}
	return api.ExplainView{Job: name, Asked: at, Slot: &at, Verdict: "ran"}, nil
}

func (f *fake) Put(_ context.Context, kind, name string, text []byte, pre api.Precondition, by string) (any, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.fail(); err != nil {
		return nil, false, err
	}
	if kind == api.KindLimit {
		return f.putLimit(name, text, pre, by)
	}
	old, exists := f.jobs[name]
	switch {
	case !pre.Holds(old.Rev):
		return nil, false, fmt.Errorf("write job %s: %w", name, job.ErrConflict)
	case old.Origin.Kind == job.OriginFile:
		return nil, false, api.OwnedByFile(kind, name, old.Origin.Source)
	}
	spec, err := config.ParseJob(name, text, func(string, string) (bool, error) { return true, nil })
	if err != nil {
		return nil, false, refused(err)
	}
	j := job.Job{Name: name, Origin: job.Origin{Kind: job.OriginAPI, Source: by}, Generation: old.Generation + 1, Spec: &spec}
	return viewJob(f.putJob(j)), !exists, nil
}

// refused converts mistakes into the error that a Backend returns.
func refused(err error) error {
	var mistakes config.Errors
	if !errors.As(err, &mistakes) {
		return err
	}
	invalid := &api.Invalid{}
	for _, m := range mistakes {
		if m.Large {
			return fmt.Errorf("%s: %w", m.Msg, job.ErrTooLarge)
		}
		invalid.Errors = append(invalid.Errors, api.FieldError{Field: m.Path, Message: m.Msg + " (" + m.Hint + ")"})
	}
	return invalid
}

func (f *fake) Delete(_ context.Context, kind, name string, pre api.Precondition, _ string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if kind == api.KindLimit {
		return f.deleteLimit(name, pre)
	}
	j, ok := f.jobs[name]
	switch {
	case !ok:
		return job.ErrNotFound
	case !pre.Holds(j.Rev):
		return job.ErrConflict
	case j.Origin.Kind == job.OriginFile:
		return api.OwnedByFile(kind, name, j.Origin.Source)
	}
	delete(f.jobs, name)
	return f.fail()
}

func (f *fake) PauseJob(_ context.Context, name string, p *job.Pause) (api.JobView, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	j, ok := f.jobs[name]
	if !ok {
		return api.JobView{}, job.ErrNotFound
	}
	j.Paused = p
	return viewJob(f.putJob(j)), f.fail()
}

func (f *fake) PauseAll(_ context.Context, p *job.Pause) (job.Gate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gate.Paused = p
	return f.gate, f.fail()
}
