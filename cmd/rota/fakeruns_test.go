package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// step moves a run one step forward.
func (f *fakeCluster) step(r job.Run) job.Run {
	now := time.Now().UTC()
	f.rev++
	var err error
	switch {
	case r.State == job.Pending && r.Due.After(now), r.State.Terminal():
		return r
	case r.Job == "stuck":
		r.Reason = "no worker accepts it"
		return r
	case r.State == job.Pending:
		r, err = r.Assign(&job.Worker{Name: "w1"})
	case r.State == job.Armed:
		r, err = r.Claim(f.rev, now)
	case r.Cancel != nil:
		r, err = r.Finish(job.Outcome{State: job.Canceled, At: now, Reason: r.Cancel.Reason})
	default:
		r, err = f.end(r, now)
	}
	if err != nil {
		panic(err)
	}
	return r
}

// active adds the active runs to a job.
func (f *fakeCluster) active(v api.JobView) api.JobView {
	for _, r := range f.runs {
		if r.Job == v.Name && !r.State.Terminal() {
			v.Active = append(v.Active, r.Name())
			v.ActiveRuns++
		}
	}
	return v
}

func (f *fakeCluster) end(r job.Run, now time.Time) (job.Run, error) {
	code := func(n int) *int { return &n }
	output := printed(&r, r.Attempt)
	switch r.Job {
	case "fails":
		return r.Finish(job.Outcome{State: job.Failed, At: now, Exit: code(3), Reason: "exit code 3", Output: output})
	case "web":
		return r.Finish(job.Outcome{State: job.Failed, At: now, Exit: code(204), Reason: "status 204"})
	case "slow":
		return r.Finish(job.Outcome{State: job.TimedOut, At: now, Reason: "longer than 1s"})
	case "hangs":
		return r, nil
	case "flaky":
		if r.Attempt == 1 {
			return r.Requeue(job.Outcome{State: job.Failed, At: now, Exit: code(1), Output: output}, now, "retry 1 of 1")
		}
	}
	return r.Finish(job.Outcome{State: job.Succeeded, At: now, Exit: code(0), Output: output})
}

// printed returns the output of an attempt.
func printed(r *job.Run, attempt int) string {
	return fmt.Sprintf("%s says %s in attempt %d\n", r.Job, cmp.Or(string(r.Payload), "hello"), attempt)
}

func (f *fakeCluster) Submit(_ context.Context, s api.Submission) (api.RunView, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.jobs[s.Job]; !ok && s.Job != job.AdHoc {
		return api.RunView{}, false, job.ErrNotFound
	}
	for _, r := range f.runs {
		if s.Key != "" && r.Key == s.Key && r.Job == s.Job {
			return api.NewRunView(r), false, nil
		}
	}
	f.rev++
	r := job.Run{
		Job: s.Job, ID: fmt.Sprintf("id-%d", f.rev), Kind: s.Kind, State: job.Pending, Slot: s.Asked, Due: s.Due,
		Key: s.Key, Payload: s.Payload, Spec: s.Spec, By: s.By, Created: s.Asked,
	}
	f.runs[r.Name()] = r
	return api.NewRunView(r), true, nil
}

func (f *fakeCluster) Cancel(_ context.Context, jobName, id string, c job.Cancel) (api.RunView, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, ok := f.runs[jobName+"/"+id]
	if !ok {
		return api.RunView{}, job.ErrNotFound
	}
	r, err := r.Stop(c)
	if err != nil {
		return api.RunView{}, err
	}
	f.runs[r.Name()] = r
	return api.NewRunView(r), nil
}

func (f *fakeCluster) Decide(_ context.Context, jobName, id string, v job.Verdict, may func([]string) error) (api.RunView, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, ok := f.runs[jobName+"/"+id]
	switch {
	case !ok:
		return api.RunView{}, job.ErrNotFound
	case !r.AwaitsApproval():
		return api.RunView{}, &api.Refusal{Reason: fmt.Sprintf("run %s waits for no approval: it is %s", r.Name(), r.State)}
	}
	if err := may(r.Approval.By); err != nil {
		return api.RunView{}, err
	}
	r, err := r.Decide(nil, v)
	if err != nil {
		return api.RunView{}, err
	}
	f.runs[r.Name()] = r
	return api.NewRunView(r), nil
}

func (f *fakeCluster) Retry(_ context.Context, jobName, id, key, by string, _ bool) (api.RunView, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, ok := f.runs[jobName+"/"+id]
	switch {
	case !ok:
		return api.RunView{}, false, job.ErrNotFound
	case !r.State.Terminal():
		return api.RunView{}, false, api.NotEnded(r.Name(), r.State)
	}
	newID := "again"
	if key != "" {
		newID += "-" + id
	}
	if made, ok := f.runs[jobName+"/"+newID]; ok && key != "" {
		return api.NewRunView(made), false, nil
	}
	again := job.Run{Job: r.Job, ID: newID, Slot: r.Slot, Key: key, Kind: job.KindRetry, State: job.Pending, RetryOf: r.Name(), By: by}
	f.runs[again.Name()] = again
	return api.NewRunView(again), true, nil
}

func (f *fakeCluster) Logs(_ context.Context, jobName, id string, attempt int, _ bool) (io.ReadCloser, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, ok := f.runs[jobName+"/"+id]
	attempt = cmp.Or(attempt, r.Attempt)
	if !ok || attempt == 0 || attempt > r.Attempt {
		return nil, job.ErrNotFound
	}
	if string(r.Payload) == `"silence"` && attempt == 1 {
		return nil, fmt.Errorf("attempt %d printed nothing: %w", attempt, job.ErrNotFound)
	}
	return io.NopCloser(strings.NewReader(printed(&r, attempt))), nil
}

func (f *fakeCluster) StartBackfill(ctx context.Context, b job.Backfill, dry bool) (api.BackfillView, error) {
	if _, err := f.Job(ctx, b.Job); err != nil {
		return api.BackfillView{}, err
	}
	v := api.BackfillView{Backfill: b}
	v.Total = 3
	if dry {
		v.Slots, v.Recorded, v.Unknown, v.First = 6, 1, 2, []time.Time{b.From}
		return v, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.backfills[b.Job] = v
	return v, nil
}

func (f *fakeCluster) StopBackfill(ctx context.Context, name, by string) (api.BackfillView, error) {
	v, err := f.Backfill(ctx, name)
	if err != nil {
		return v, err
	}
	v.Backfill = v.Stop("stopped by "+by, v.To)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.backfills[name] = v
	return v, nil
}

func (f *fakeCluster) Backfill(_ context.Context, name string) (api.BackfillView, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	v, ok := f.backfills[name]
	if !ok {
		return v, fmt.Errorf("backfill of job %s: %w", name, job.ErrNotFound)
	}
	return v, nil
}

func (f *fakeCluster) Backfills(context.Context) (all []api.BackfillView, _ error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, v := range f.backfills {
		all = append(all, v)
	}
	return all, nil
}

func (f *fakeCluster) ListJobs(ctx context.Context, q api.ListQuery) (page []api.JobView, more bool, err error) {
	all, err := f.Jobs(ctx)
	page, more = q.Page(slices.Values(slices.DeleteFunc(all, func(v api.JobView) bool { return !q.Selects(&v.Job) })))
	return page, more, err
}
