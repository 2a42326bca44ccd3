package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Limiter shows and changes cluster-wide limits. Its methods return what those of Reader and Editor do for jobs; a limit
// that a job names is not deleted, with *Refusal.
type Limiter interface {
	// Limits are in the order of their names.
	Limits(ctx context.Context) ([]LimitView, error)
	PutLimit(ctx context.Context, name string, spec job.LimitSpec, pre Precondition, by string) (v LimitView, created bool, err error)
	DeleteLimit(ctx context.Context, name string, pre Precondition, by string) error
}

// LimitView is a limit as the API shows it.
type LimitView struct {
	job.Limit
	Revision int64 `json:"revision" doc:"Store revision of the definition, for If-Match"`
	Held     int   `json:"held" doc:"Runs that are with workers and hold it"`
}

// LimitList is the body of the list of limits.
type LimitList struct {
	Limits []LimitView `json:"limits"`
}

func (s *Server) registerLimits(doc huma.API) {
	if s.back.Limiter == nil {
		return
	}
	register(s, doc, operation{
		id: "list-limits", method: "GET", path: "/v1/limits",
		summary: "All cluster-wide limits",
	}, s.readLimits)
	register(s, doc, operation{
		id: "put-limit", method: "PUT", path: "/v1/limits/{limit}",
		summary: "Create or replace a limit", errors: []int{400, 403, 409, 412, 507},
	}, s.putLimit)
	register(s, doc, operation{
		id: "delete-limit", method: "DELETE", path: "/v1/limits/{limit}",
		summary: "Delete a limit that no job names", status: 204, errors: []int{400, 403, 404, 409, 412},
	}, s.deleteLimit)
}

func (s *Server) readLimits(ctx context.Context, _ *struct{}) (*body[LimitList], error) {
	limits, err := s.back.Limiter.Limits(ctx)
	if err != nil {
		return nil, err
	}
	return &body[LimitList]{LimitList{Limits: list(limits)}}, nil
}

func (s *Server) putLimit(ctx context.Context, in *struct {
	Limit       string `path:"limit"`
	IfMatch     string `header:"If-Match" doc:"The revision that the definition must have" example:"\"123\""`
	IfNoneMatch string `header:"If-None-Match" doc:"*: the limit must not exist"`
	RawBody     []byte
	Body        job.LimitSpec
}) (*tagged[LimitView], error) {
	if err := job.CheckName(in.Limit); err != nil {
		return nil, invalid("path.limit", "%v", err)
	}
	if in.Body.Concurrent < 0 || in.Body == (job.LimitSpec{}) {
		return nil, invalid("body.concurrent", "say how much it allows: concurrent, rate or both")
	}
	if place := twice(in.RawBody); place != "" {
		return nil, invalid("body."+place, "is given twice: remove one of the two")
	}
	if err := unsaid(in.RawBody, in.Body); err != nil {
		return nil, err
	}
	pre, err := precondition(in.IfMatch, in.IfNoneMatch)
	if err != nil {
		return nil, err
	}
	v, created, err := s.back.Limiter.PutLimit(ctx, in.Limit, in.Body, pre, caller(ctx))
	if err != nil {
		return nil, problem(err, !pre.Any())
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return &tagged[LimitView]{Status: status, ETag: etag(v.Revision), Body: v}, nil
}

func (s *Server) deleteLimit(ctx context.Context, in *struct {
	Limit   string `path:"limit"`
	IfMatch string `header:"If-Match" doc:"The revision that the definition must have" example:"\"123\""`
}) (*struct{}, error) {
	pre, err := precondition(in.IfMatch, "")
	if err != nil {
		return nil, err
	}
	err = s.back.Limiter.DeleteLimit(ctx, in.Limit, pre, caller(ctx))
	switch {
	case errors.Is(err, job.ErrNotFound):
		return nil, huma.Error404NotFound(fmt.Sprintf("there is no limit %q", in.Limit))
	case err != nil:
		return nil, problem(err, !pre.Any())
	}
	return nil, nil
}
