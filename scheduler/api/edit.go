package api

import (
	"context"
	"net/http"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

func (s *Server) putJob(ctx context.Context, in *struct {
	Job         string `path:"job"`
	IfMatch     string `header:"If-Match" doc:"The revision that the definition must have" example:"\"123\""`
	IfNoneMatch string `header:"If-None-Match" doc:"*: the job must not exist"`
	RawBody     []byte
	Body        job.Spec
}) (*tagged[JobView], error) {
	if err := job.CheckName(in.Job); err != nil {
		return nil, invalid("path.job", "%v", err)
	}
	if in.Job == job.AdHoc {
		return nil, invalid("path.job", "%q is the name under which commands without a job run", job.AdHoc)
	}
	if place, found := ctx.Value(twiceKey{}).(string); found {
		return nil, invalid(place, "is given twice: remove one of the two")
	}
	if err := unsaid(in.RawBody, in.Body); err != nil {
		return nil, err
	}
	pre, err := precondition(in.IfMatch, in.IfNoneMatch)
	if err != nil {
		return nil, err
	}
	if in.Body.Payload, err = payload(in.Body.Payload); err != nil {
		return nil, err
	}
	v, created, err := s.back.Editor.PutJob(ctx, in.Job, in.Body, pre, caller(ctx))
	if err != nil {
		return nil, s.unmet(ctx, in.Job, pre, err)
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return showJob(status, v), nil
}

func (s *Server) deleteJob(ctx context.Context, in *struct {
	Job     string `path:"job"`
	IfMatch string `header:"If-Match" doc:"The revision that the definition must have" example:"\"123\""`
}) (*struct{}, error) {
	pre, err := precondition(in.IfMatch, "")
	if err != nil {
		return nil, err
	}
	if err := s.back.Editor.DeleteJob(ctx, in.Job, pre, caller(ctx)); err != nil {
		return nil, s.unmet(ctx, in.Job, pre, err)
	}
	return nil, nil
}

// unmet tells of a write that did not happen.
func (s *Server) unmet(ctx context.Context, name string, pre Precondition, err error) error {
	return problem(s.missing(ctx, name, err), !pre.Any())
}

type pauseInput struct {
	Job  string `path:"job"`
	Body *ReasonRequest
}

func (s *Server) pauseJob(ctx context.Context, in *pauseInput) (*tagged[JobView], error) {
	p, err := s.pause(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	return s.setPause(ctx, in.Job, p)
}

func (s *Server) resumeJob(ctx context.Context, in *pauseInput) (*tagged[JobView], error) {
	return s.setPause(ctx, in.Job, nil)
}

func (s *Server) setPause(ctx context.Context, name string, p *job.Pause) (*tagged[JobView], error) {
	v, err := s.back.Editor.PauseJob(ctx, name, p)
	if err != nil {
		return nil, s.missing(ctx, name, err)
	}
	return showJob(http.StatusOK, v), nil
}

type pauseAllInput struct {
	Body *ReasonRequest
}

func (s *Server) pauseAll(ctx context.Context, in *pauseAllInput) (*body[GateView], error) {
	p, err := s.pause(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	return s.setGate(ctx, p)
}

func (s *Server) resumeAll(ctx context.Context, _ *pauseAllInput) (*body[GateView], error) {
	return s.setGate(ctx, nil)
}

func (s *Server) setGate(ctx context.Context, p *job.Pause) (*body[GateView], error) {
	g, err := s.back.Editor.PauseAll(ctx, p)
	if err != nil {
		return nil, err
	}
	return &body[GateView]{GateView{Paused: g.Paused, Since: g.Since}}, nil
}

func (s *Server) acceptRestored(ctx context.Context, _ *struct{}) (*body[RestoredView], error) {
	v, err := s.back.Restorer.AcceptRestored(ctx, caller(ctx))
	if err != nil {
		return nil, err
	}
	return &body[RestoredView]{v}, nil
}

func (s *Server) pause(ctx context.Context, r *ReasonRequest) (*job.Pause, error) {
	now, err := s.dated(ctx)
	if err != nil {
		return nil, err
	}
	p := &job.Pause{At: now, By: caller(ctx)}
	if r != nil {
		p.Reason = r.Reason
	}
	return p, nil
}

// dated dates a change that somebody asks for: see Backend.Now.
func (s *Server) dated(ctx context.Context) (time.Time, error) {
	if s.back.Now == nil {
		return s.now().UTC(), nil
	}
	return s.back.Now(ctx)
}
