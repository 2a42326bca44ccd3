package main

import (
	"context"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/timeline"
)

func (f *fakeCluster) Timeline(_ context.Context, q timeline.Query) ([]timeline.Entry, error) {
	f.timelines.Add(1)
	if f.entries != nil {
		return q.Latest(f.entries), nil
	}
	q.Since = time.Time{}
	at := time.Date(2026, 1, 31, 10, 49, 5, 0, time.UTC)
	missed := timeline.Entry{
		At: at, Kind: timeline.KindMissed, Job: "ok", From: at, To: at.Add(time.Minute), Count: 3,
		Text: "3 slots of ok did not run: missed.",
	}
	if q.Part == timeline.OnlyRanges {
		return q.Latest([]timeline.Entry{missed}), nil
	}
	return q.Latest([]timeline.Entry{
		{At: at, Kind: timeline.KindLostMember, Node: "q3", Text: "q3 died."},
		{At: at.Add(time.Second), Kind: timeline.KindRetried, Job: "ok", Run: "ok/x", Text: "Attempt 1 of ok/x on q3 was lost and is repeated."},
		missed,
	}), nil
}

func (f *fakeCluster) Incident(_ context.Context, at time.Time) (timeline.Incident, error) {
	from := time.Date(2026, 1, 31, 10, 49, 5, 0, time.UTC)
	if at.Before(from) {
		return timeline.Incident{}, job.ErrNotFound
	}
	return timeline.Incident{From: from, Until: from.Add(16 * time.Second), Sentences: []string{"q3 died at 10:49:05Z; q2 took over in 42 ms."}}, nil
}

func (f *fakeCluster) Month(context.Context, string, int, time.Month) (api.MonthView, error) {
	return api.MonthView{}, job.ErrNotFound
}

func (f *fakeCluster) WorkflowRuns(context.Context, string, int) (api.WorkflowRunsView, error) {
	return api.WorkflowRunsView{}, job.ErrNotFound
}
