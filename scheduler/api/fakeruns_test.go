package api_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func (f *fake) Submit(_ context.Context, s api.Submission) (api.RunView, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.fail(); err != nil {
		return api.RunView{}, false, err
	}
	if _, ok := f.jobs[s.Job]; !ok && s.Job != job.AdHoc {
		if r, ok := f.runs[s.Job+"/k-"+s.Key]; ok && s.Earlier == s.Workflow {
			return api.NewRunView(r), false, nil
		}
		return api.RunView{}, false, job.ErrNotFound
	}
	f.asked = s
	id := fmt.Sprintf("m%d", f.rev)
	if s.Key != "" {
		id = "k-" + s.Key
		if r, ok := f.runs[s.Job+"/"+id]; ok {
			return api.NewRunView(r), false, nil
		}
	}
	r := f.putRun(job.Run{Job: s.Job, ID: id, Kind: s.Kind, Slot: s.Asked, Due: s.Due, State: job.Pending,
		Key: s.Key, Payload: s.Payload, Params: s.Params, Spec: s.Spec, By: s.By})
	return api.NewRunView(r), true, nil
}

func (f *fake) Cancel(_ context.Context, jobName, id string, c job.Cancel) (api.RunView, error) {
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
	return api.NewRunView(f.putRun(r)), f.fail()
}

func (f *fake) Decide(_ context.Context, jobName, id string, v job.Verdict, may func([]string) error) (api.RunView, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, ok := f.runs[jobName+"/"+id]
	if !ok {
		return api.RunView{}, job.ErrNotFound
	}
	if r.Approval != nil {
		if err := may(r.Approval.By); err != nil {
			return api.RunView{}, err
		}
	}
	r, err := r.Decide(&job.Approve{}, v)
	if err != nil {
		return api.RunView{}, err
	}
	return api.NewRunView(f.putRun(r)), f.fail()
}

func (f *fake) AcceptRestored(context.Context, string) (api.RestoredView, error) {
	if err := f.fail(); err != nil {
		return api.RestoredView{}, err
	}
	return api.RestoredView{Cluster: "abc", Revision: f.rev, Era: 1}, nil
}

func (f *fake) Retry(_ context.Context, jobName, id, key, by string, _ bool) (api.RunView, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, ok := f.runs[jobName+"/"+id]
	switch {
	case !ok:
		return api.RunView{}, false, job.ErrNotFound
	case !r.State.Terminal():
		return api.RunView{}, false, api.NotEnded(r.Name(), r.State)
	}
	return api.NewRunView(f.putRun(job.Run{Job: jobName, ID: "again", Kind: job.KindRetry, RetryOf: r.Name(), State: job.Pending, By: by, Key: key})), true, nil
}

func (f *fake) Logs(ctx context.Context, jobName, id string, attempt int, follow bool) (io.ReadCloser, error) {
	if err := f.fail(); err != nil {
		return nil, err
	}
	if out, ok := f.output[jobName+"/"+id]; ok {
		return out(ctx, follow)
	}
	return nil, fmt.Errorf("output of %s/%s attempt %d is gone: %w", jobName, id, attempt, job.ErrNotFound)
}

func (f *fake) Watch(ctx context.Context, after int64) (int64, <-chan []api.Event, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.fail(); err != nil {
		return 0, nil, err
	}
	events := make(chan []api.Event, 10_000)
	from := after
	if after == 0 || after < f.oldest || after > f.rev {
		from = f.rev
	}
	for _, batch := range f.history {
		if batch[0].Revision > from {
			events <- batch
		}
	}
	f.watches = append(f.watches, events)
	context.AfterFunc(ctx, func() { f.unwatch(events) })
	return from, events, nil
}

func (f *fake) unwatch(events chan []api.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := slices.Index(f.watches, events); i >= 0 {
		f.watches = slices.Delete(f.watches, i, i+1)
		close(events)
	}
}

func (f *fake) watching() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.watches)
}

// change calls do while it holds the lock of the fake.
func (f *fake) change(do func(f *fake)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do(f)
}

func (f *fake) StartBackfill(ctx context.Context, b job.Backfill, dry bool) (api.BackfillView, error) {
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

func (f *fake) StopBackfill(ctx context.Context, name, by string) (api.BackfillView, error) {
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

func (f *fake) Backfill(_ context.Context, name string) (api.BackfillView, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	v, ok := f.backfills[name]
	if !ok {
		return v, fmt.Errorf("backfill of job %s: %w", name, job.ErrNotFound)
	}
	return v, nil
}

func (f *fake) Backfills(context.Context) (all []api.BackfillView, _ error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, v := range f.backfills {
		all = append(all, v)
	}
	return all, nil
}
