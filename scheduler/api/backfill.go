package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// Backfiller runs past slots of jobs. Its methods return job.ErrNotFound for an unknown job, and for a job without a backfill.
type Backfiller interface {
	// StartBackfill orders a backfill. With dry, it only returns what the backfill would do. If an equal backfill is running, it
	// returns that one. It returns a *Refusal while another one is running, and for a job that cannot be backfilled.
	StartBackfill(ctx context.Context, b job.Backfill, dry bool) (BackfillView, error)
	// StopBackfill stops the running backfill of a job. Runs that it has created go on.
	StopBackfill(ctx context.Context, jobName, by string) (BackfillView, error)
	Backfill(ctx context.Context, jobName string) (BackfillView, error)
	// Backfills returns the backfills of all jobs, sorted by job.
	Backfills(ctx context.Context) ([]BackfillView, error)
}

// BackfillView is a backfill in the form of the API.
type BackfillView struct {
	job.Backfill
	Active   int         `json:"active" doc:"Slots with a run that it has created and that has not ended; runs of steps count"`
	Failed   int         `json:"failed" doc:"Runs in history that it has created and that ended without success"`
	Slots    int         `json:"slots,omitempty" doc:"With dry_run: all slots of the range"`
	Recorded int         `json:"recorded,omitempty" doc:"With dry_run: slots that have a run already"`
	Unknown  int         `json:"unknown,omitempty" doc:"With dry_run: slots that do not run, since history may have lost their run"`
	Open     int         `json:"open,omitempty" doc:"With dry_run: slots that do not run, since the schedule has not decided them yet"`
	First    []time.Time `json:"first,omitempty" doc:"With dry_run: the first slots that would run, in the order of the backfill"`
	Revision int64       `json:"revision"`
}

func (v BackfillView) shown() (BackfillView, int64) {
	v.Past = nil // internal, and long
	return v, v.Revision
}

// BackfillRequest is the body of POST /v1/jobs/{job}/backfill.
type BackfillRequest struct {
	From        time.Time         `json:"from" doc:"The first slot may be at it"`
	To          time.Time         `json:"to" doc:"The last slot may be at it"`
	Order       job.BackfillOrder `json:"order,omitempty" enum:"asc,desc" doc:"asc by default: the oldest slot first"`
	Concurrency int               `json:"concurrency,omitempty" minimum:"1" maximum:"1000" doc:"At a time; default: 1"`
	DryRun      bool              `json:"dry_run,omitempty" doc:"Only count: nothing is changed"`
}

// BackfillList is the body of the list of backfills.
type BackfillList struct {
	Backfills []BackfillView `json:"backfills"`
}

func (s *Server) registerBackfills(doc huma.API) {
	register(s, doc, operation{
		id: "list-backfills", right: auth.Read, walks: true, method: "GET", path: "/v1/backfills",
		summary: "The latest backfill of each job",
	}, s.readBackfills)
	register(s, doc, operation{
		id: "read-backfill", right: auth.Read, method: "GET", path: "/v1/jobs/{job}/backfill",
		summary: "The latest backfill of a job", errors: []int{404, 409},
	}, s.readBackfill)
	register(s, doc, operation{
		id: "start-backfill", right: auth.Operate, method: "POST", path: "/v1/jobs/{job}/backfill",
		summary: "Run past slots of a job that had no run", errors: []int{403, 404, 409, 507},
	}, s.startBackfill)
	register(s, doc, operation{
		id: "stop-backfill", right: auth.Operate, method: "DELETE", path: "/v1/jobs/{job}/backfill",
		summary: "Stop a backfill; its runs go on", errors: []int{403, 404, 409},
	}, s.stopBackfill)
}

func (s *Server) readBackfills(ctx context.Context, _ *struct{}) (*body[BackfillList], error) {
	all, err := s.back.Replica.Backfills(ctx)
	if err != nil {
		return nil, err
	}
	l := BackfillList{Backfills: []BackfillView{}}
	sees := s.sees(ctx)
	for _, v := range all {
		if sees == nil || sees(v.Job) {
			v, _ = s.visibleBackfill(ctx, v).shown()
			l.Backfills = append(l.Backfills, v)
		}
	}
	return &body[BackfillList]{l}, nil
}

func (s *Server) readBackfill(ctx context.Context, in *struct {
	Job string `path:"job"`
}) (*tagged[BackfillView], error) {
	v, err := s.back.Replica.Backfill(ctx, in.Job)
	if err != nil {
		return nil, s.noBackfill(ctx, in.Job, err)
	}
	return show(http.StatusOK, s.visibleBackfill(ctx, v)), nil
}

func (s *Server) startBackfill(ctx context.Context, in *struct {
	Job  string `path:"job"`
	Body BackfillRequest
}) (*tagged[BackfillView], error) {
	now, err := s.changeTime(ctx)
	if err != nil {
		return nil, err
	}
	from, err := recordable("body.from", in.Body.From)
	if err != nil {
		return nil, err
	}
	to, err := recordable("body.to", in.Body.To)
	if err != nil {
		return nil, err
	}
	b := job.Backfill{
		Job: in.Job, From: from, To: to, Order: cmp.Or(in.Body.Order, job.OldestFirst),
		Concurrency: cmp.Or(in.Body.Concurrency, 1), State: job.BackfillRunning, By: caller(ctx), Created: now,
	}
	switch {
	case b.From.IsZero():
		return nil, invalid("body.from", "is missing")
	case b.To.Before(b.From):
		return nil, invalid("body.to", "lies before the start of the range")
	case b.To.After(now):
		return nil, invalid("body.to", "lies in the future: the schedule runs the slots to come")
	}
	if err := s.requireBehind(ctx, in.Job); err != nil { // a backfill runs the steps behind the job too
		return nil, s.notFound(ctx, KindJob, in.Job, err)
	}
	v, err := s.back.Replica.StartBackfill(ctx, b, in.Body.DryRun)
	if err != nil {
		return nil, s.notFound(ctx, KindJob, in.Job, err)
	}
	return show(http.StatusOK, s.visibleBackfill(ctx, v)), nil
}

func (s *Server) stopBackfill(ctx context.Context, in *struct {
	Job string `path:"job"`
}) (*tagged[BackfillView], error) {
	v, err := s.back.Replica.StopBackfill(ctx, in.Job, caller(ctx))
	if err != nil {
		return nil, s.noBackfill(ctx, in.Job, err)
	}
	return show(http.StatusOK, s.visibleBackfill(ctx, v)), nil
}

// visibleBackfill returns v without the steps that the caller of a request may not see.
func (s *Server) visibleBackfill(ctx context.Context, v BackfillView) BackfillView {
	if sees := s.sees(ctx); sees != nil {
		v.Steps = slices.DeleteFunc(slices.Clone(v.Steps), func(name string) bool { return !sees(name) })
	}
	return v
}

// noBackfill converts job.ErrNotFound into an answer that says whether the job or its backfill is unknown.
func (s *Server) noBackfill(ctx context.Context, name string, err error) error {
	if _, jobErr := s.back.Replica.Job(ctx, name); jobErr != nil {
		return s.notFound(ctx, KindJob, name, jobErr)
	}
	return s.notFound(ctx, "backfill of job", name, err)
}
