package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/rota-scheduler/rota/scheduler/attention"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// body is an answer without headers of its own.
type body[T any] struct {
	Body T
}

// tagged is an answer with the revision of its record.
type tagged[T any] struct {
	Status int
	ETag   string `header:"ETag"`
	Body   T
}

// view is a record of the store in the form of the API. shown returns the record with [] in place of null, and its revision.
type view[V any] interface{ shown() (V, int64) }

func (v JobView) shown() (JobView, int64) {
	v.Active = list(v.Active)
	return v, v.Revision
}

func (v LimitView) shown() (LimitView, int64) { return v, v.Revision }

func (v RunView) shown() (RunView, int64) { return v, v.Revision }

// statusOf returns the status of an answer that has created a record or not.
func statusOf(created bool) int {
	if created {
		return http.StatusCreated
	}
	return http.StatusOK
}

// show returns the answer for a record.
func show[V view[V]](status int, v V) *tagged[V] {
	v, revision := v.shown()
	return &tagged[V]{Status: status, ETag: etag(revision), Body: v}
}

func (s *Server) readCluster(ctx context.Context, _ *struct{}) (*body[ClusterView], error) {
	v, err := s.back.Replica.Cluster(ctx)
	if err != nil {
		return nil, err
	}
	if sees := s.sees(ctx); sees != nil {
		v = onlyVisible(v, sees)
	}
	v.Replicas, v.Quarantined = list(v.Replicas), list(v.Quarantined)
	v.Members, v.Attention = list(v.Members), list(v.Attention)
	return &body[ClusterView]{v}, nil
}

// onlyVisible removes what names jobs that a client may not see. It does not change the lists of v, which others may share.
func onlyVisible(v ClusterView, sees func(job string) bool) ClusterView {
	v.Quarantined, v.Files.Notes = nil, nil
	v.Replicas = slices.Clone(v.Replicas)
	for i := range v.Replicas {
		v.Replicas[i].hideJobs()
	}
	v.Attention = slices.DeleteFunc(slices.Clone(v.Attention), func(i attention.Item) bool {
		switch i.Kind {
		case attention.Quarantined, attention.Files, attention.AuthFile, attention.Notifier:
			return true
		}
		return i.Job != "" && !sees(i.Job)
	})
	return v
}

// hideJobs removes what names jobs, or their notifiers.
func (v *ReplicaView) hideJobs() { v.FilesNote, v.Undelivered = "", nil }

func (s *Server) readJobs(ctx context.Context, in *struct {
	Selector string `query:"selector" doc:"Only jobs with these labels" example:"team=billing"`
	Continue string `query:"continue" doc:"Token of the previous page" maxLength:"63"`
}) (*body[JobList], error) {
	selected, err := selector(in.Selector)
	if err != nil {
		return nil, err
	}
	sees := s.sees(ctx)
	jobs, more, err := s.back.Replica.ListJobs(ctx, ListQuery{After: in.Continue, Bytes: maxListBytes, Accepts: func(j *job.Job) bool {
		return selected.Matches(j.Spec.Labels) && (sees == nil || sees(j.Name))
	}})
	if err != nil {
		return nil, err
	}
	for i := range jobs {
		jobs[i].Active, jobs[i].Spec = list(jobs[i].Active), s.masked(ctx, jobs[i].Name, jobs[i].Spec)
	}
	page := JobList{Jobs: list(jobs)}
	if more && len(jobs) > 0 {
		page.Continue = jobs[len(jobs)-1].Name
	}
	return &body[JobList]{page}, nil
}

func (s *Server) readJob(ctx context.Context, in *struct {
	Job string `path:"job"`
}) (*tagged[JobView], error) {
	v, err := s.back.Replica.Job(ctx, in.Job)
	if err != nil {
		return nil, s.notFound(ctx, KindJob, in.Job, err)
	}
	v.Spec = s.masked(ctx, in.Job, v.Spec)
	return show(http.StatusOK, v), nil
}

func (s *Server) readLimits(ctx context.Context, _ *struct{}) (*body[LimitList], error) {
	limits, err := s.back.Replica.Limits(ctx)
	return &body[LimitList]{LimitList{Limits: list(limits)}}, err
}

func (s *Server) readRuns(ctx context.Context, in *struct {
	Job      string   `query:"job" doc:"Only of this job"`
	Selector string   `query:"selector" doc:"Only of jobs with these labels" example:"team=billing"`
	State    []string `query:"state,explode" doc:"Only in this state; may be given several times"`
	Since    string   `query:"since" doc:"Only slots since then: a time span (24h, 7d) or a time" example:"24h"`
	Limit    int      `query:"limit" default:"100" minimum:"1" maximum:"1000"`
	Continue string   `query:"continue" doc:"Token of the previous page"`
}) (*body[RunList], error) {
	q := RunQuery{Job: in.Job, Limit: in.Limit + 1} // one more run shows whether another page follows
	selected, err := selector(in.Selector)
	if err != nil {
		return nil, err
	}
	sees := s.sees(ctx)
	q.Visible = s.selects(sees, selected)
	if q.States, err = states(in.State); err != nil {
		return nil, err
	}
	if q.Since, err = since(in.Since, s.present()); err != nil {
		return nil, err
	}
	if q.After, err = mark(in.Continue); err != nil {
		return nil, err
	}
	runs, err := s.back.Replica.Runs(ctx, q)
	if err != nil {
		return nil, err
	}
	// A deleted job may still have runs. So only an empty answer can mean that the name is wrong.
	if len(runs) == 0 && q.Job != "" && q.Job != job.AdHoc {
		_, err := s.back.Replica.Job(ctx, q.Job)
		if err == nil && sees != nil && !sees(q.Job) {
			err = job.ErrNotFound // an empty list would reveal that the job exists
		}
		if err != nil {
			return nil, s.notFound(ctx, KindJob, q.Job, err)
		}
	}
	for i := range runs {
		runs[i] = s.maskedRun(ctx, runs[i])
	}
	page := RunList{Runs: list(runs)}
	if n := min(in.Limit, withinBytes(runs)); len(runs) > n {
		page.Runs = runs[:n]
		page.Continue = token(&page.Runs[n-1])
	}
	return &body[RunList]{page}, nil
}

// selects returns a function that reports whether a job is both visible and selected; nil if all jobs are.
func (s *Server) selects(sees func(name string) bool, selected job.Selector) func(name string) bool {
	if selected.Empty() {
		return sees
	}
	return func(name string) bool {
		return selected.Matches(s.object(name).Labels) && (sees == nil || sees(name))
	}
}

func (s *Server) readRun(ctx context.Context, in *struct {
	Job  string `path:"job"`
	Slot string `path:"slot" doc:"The slot, or the id of a run without one"`
}) (*tagged[RunView], error) {
	v, err := s.back.Replica.Run(ctx, in.Job, in.Slot)
	if err != nil {
		return nil, s.runNotFound(ctx, in.Job, in.Slot, err)
	}
	return show(http.StatusOK, s.maskedRun(ctx, v)), nil
}

// maskedRun masks the spec in a run.
func (s *Server) maskedRun(ctx context.Context, v RunView) RunView {
	v.Spec = s.masked(ctx, v.Job, v.Spec)
	return v
}

func (s *Server) readWorkers(ctx context.Context, _ *struct{}) (*body[WorkerList], error) {
	workers, err := s.back.Replica.Workers(ctx)
	return &body[WorkerList]{WorkerList{Workers: list(workers)}}, err
}

func (s *Server) readNext(ctx context.Context, in *struct {
	Job  string `path:"job"`
	N    int    `query:"n" default:"10" minimum:"1" maximum:"1000"`
	From string `query:"from" doc:"Slots after it, RFC 3339; now by default"`
}) (*body[NextView], error) {
	from, err := s.presentOr("from", in.From)
	if err != nil {
		return nil, err
	}
	v, err := s.back.Replica.Next(ctx, in.Job, from, in.N)
	if err != nil {
		return nil, s.notFound(ctx, KindJob, in.Job, err)
	}
	v.Slots, v.Notes = list(v.Slots), list(v.Notes)
	return &body[NextView]{v}, nil
}

func (s *Server) readExplain(ctx context.Context, in *struct {
	Job  string `path:"job"`
	Time string `query:"time" required:"true" doc:"The slot, or a time near it, RFC 3339" example:"2026-01-31T02:30:00Z"`
}) (*body[ExplainView], error) {
	at, err := instant("time", in.Time)
	if err != nil {
		return nil, err
	}
	v, err := s.back.Replica.Explain(ctx, in.Job, at)
	if err != nil {
		return nil, s.notFound(ctx, KindJob, in.Job, err)
	}
	v.Text = list(v.Text)
	return &body[ExplainView]{v}, nil
}

// runNotFound converts job.ErrNotFound for a run into an answer with a hint. It returns other errors unchanged.
func (s *Server) runNotFound(ctx context.Context, jobName, id string, err error) error {
	if !errors.Is(err, job.ErrNotFound) {
		return err
	}
	if jobName != job.AdHoc && s.back.Replica != nil {
		if _, jobErr := s.back.Replica.Job(ctx, jobName); errors.Is(jobErr, job.ErrNotFound) {
			return s.notFound(ctx, KindJob, jobName, jobErr)
		}
	}
	return huma.Error404NotFound(fmt.Sprintf("there is no run %s/%s: `rota runs %s` lists those that are kept", jobName, id, jobName))
}

// list returns an empty list for nil, so that the JSON is [] and not null.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
