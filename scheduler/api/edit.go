package api

import (
	"context"
	"net/http"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

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
	v, err := s.back.Replica.PauseJob(ctx, name, p)
	if err != nil {
		return nil, s.notFound(ctx, KindJob, name, err)
	}
	v.Spec = s.masked(ctx, name, v.Spec)
	return show(http.StatusOK, v), nil
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
	g, err := s.back.Replica.PauseAll(ctx, p)
	return &body[GateView]{GateView{Paused: g.Paused, Since: g.Since}}, err
}

func (s *Server) acceptRestored(ctx context.Context, _ *struct{}) (*body[RestoredView], error) {
	v, err := s.back.Restorer.AcceptRestored(ctx, caller(ctx))
	return &body[RestoredView]{v}, err
}

func (s *Server) pause(ctx context.Context, r *ReasonRequest) (*job.Pause, error) {
	now, err := s.changeTime(ctx)
	if err != nil {
		return nil, err
	}
	return &job.Pause{At: now, By: caller(ctx), Reason: r.text()}, nil
}

// present returns the time that requests mean by now; see Backend.Present.
func (s *Server) present() time.Time {
	if s.back.Present == nil {
		return s.now()
	}
	return s.back.Present()
}

// changeTime returns the time to record for a change by a client; see Backend.Now.
func (s *Server) changeTime(ctx context.Context) (time.Time, error) {
	if s.back.Now == nil {
		return s.now().UTC(), nil
	}
	return s.back.Now(ctx)
}
