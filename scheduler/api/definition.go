package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/suggest"
)

// definition describes the routes for one kind of definition.
type definition struct {
	kind     string     // KindJob or KindLimit; also the name of the parameter in the path.
	path     string     // path of one definition, with the parameter at its end.
	schema   string     // name of the request's schema in the document.
	reserved string     // a name that no definition may have; empty for none.
	remove   string     // summary of the deletion
	right    auth.Right // the right that a change needs
}

// registerDefinitions adds the routes that change definitions. To add a kind, add a call here.
func (s *Server) registerDefinitions(doc huma.API) {
	define[JobView](s, doc, definition{
		kind: KindJob, path: "/v1/jobs/{job}", schema: "Spec", reserved: job.AdHoc, remove: "Delete a job", right: auth.Define,
	})
	define[LimitView](s, doc, definition{
		kind: KindLimit, path: "/v1/limits/{limit}", schema: "LimitSpec", remove: "Delete a limit that no job names", right: auth.Admin,
	})
}

// named reads the name of a definition from the path.
type named struct{ name string }

// Resolve implements huma.Resolver.
func (n *named) Resolve(ctx huma.Context) []error {
	path := ctx.Operation().Path
	n.name = ctx.Param(path[strings.LastIndexByte(path, '{')+1 : len(path)-1])
	return nil
}

type putDefinition struct {
	named
	IfMatch     string `header:"If-Match" doc:"The revision that the definition must have" example:"\"123\""`
	IfNoneMatch string `header:"If-None-Match" doc:"*: the definition must not exist"`
	Body        json.RawMessage
}

type deleteDefinition struct {
	named
	IfMatch string `header:"If-Match" doc:"The revision that the definition must have" example:"\"123\""`
}

// define registers the routes of one kind. V is its view.
func define[V view[V]](s *Server, doc huma.API, d definition) {
	register(s, doc, operation{
		id: "put-" + d.kind, right: d.right, method: "PUT", path: d.path, parameter: d.kind,
		bodyDecides: d.kind == KindJob,
		summary:     "Create or replace a " + d.kind, errors: []int{400, 403, 409, 412, 413, 507},
	}, func(ctx context.Context, in *putDefinition) (*tagged[V], error) { return put[V](ctx, s, d, in) })
	register(s, doc, operation{
		id: "delete-" + d.kind, right: d.right, method: "DELETE", path: d.path, parameter: d.kind,
		summary: d.remove, status: 204, errors: []int{400, 403, 404, 409, 412},
	}, func(ctx context.Context, in *deleteDefinition) (*struct{}, error) {
		pre, err := precondition(in.IfMatch, "")
		if err != nil {
			return nil, err
		}
		if d.kind == KindJob {
			if err := s.requireForSpec(ctx, in.name, nil); err != nil {
				return nil, err
			}
			ctx = s.withVisible(ctx)
		}
		return nil, s.notWritten(ctx, d.kind, in.name, pre, s.back.Replica.Delete(ctx, d.kind, in.name, pre, caller(ctx)))
	})
	// The body is read as raw JSON, so that a Backend reads it by the rules of job files. The document still has its schema.
	body := doc.OpenAPI().Paths[d.path].Put.RequestBody
	body.Content["application/json"] = &huma.MediaType{Schema: &huma.Schema{Ref: schemaPrefix + d.schema}}
	alias(doc, d.path, http.StatusOK, http.StatusCreated)
}

func put[V view[V]](ctx context.Context, s *Server, d definition, in *putDefinition) (*tagged[V], error) {
	if err := job.CheckName(in.name); err != nil {
		return nil, invalid("path."+d.kind, "%v", err)
	}
	if d.reserved != "" && in.name == d.reserved {
		return nil, invalid("path."+d.kind, "%q is the name under which commands without a job run", in.name)
	}
	pre, err := precondition(in.IfMatch, in.IfNoneMatch)
	if err != nil {
		return nil, err
	}
	if d.kind == KindJob {
		if err := s.requireForSpec(ctx, in.name, in.Body); err != nil {
			return nil, err
		}
		ctx = s.withVisible(ctx)
	}
	view, created, err := s.back.Replica.Put(ctx, d.kind, in.name, in.Body, pre, caller(ctx))
	if err != nil {
		return nil, s.notWritten(ctx, d.kind, in.name, pre, err)
	}
	v, ok := view.(V)
	if !ok {
		return nil, fmt.Errorf("put %s %s: the backend returned a %T", d.kind, in.name, view)
	}
	return show(statusOf(created), v), nil
}

// notWritten returns the answer to a write that failed with err. It returns nil if err is nil.
func (s *Server) notWritten(ctx context.Context, kind, name string, pre Precondition, err error) error {
	switch {
	case err == nil:
		return nil
	case pre.Absent && errors.Is(err, job.ErrConflict):
		return huma.Error412PreconditionFailed(fmt.Sprintf("%s %s exists already: leave out If-None-Match to replace it", kind, name))
	}
	return problem(s.notFound(ctx, kind, name, err), !pre.Any())
}

// notFound converts job.ErrNotFound into an answer that suggests a definition with a similar name. It returns other errors
// unchanged.
func (s *Server) notFound(ctx context.Context, kind, name string, err error) error {
	if !errors.Is(err, job.ErrNotFound) {
		return err
	}
	detail := fmt.Sprintf("there is no %s %q", kind, name)
	if near := suggest.Nearest(name, s.names(ctx, kind)); near != "" && near != name {
		detail += fmt.Sprintf(", did you mean %q?", near)
	}
	return huma.Error404NotFound(detail)
}

// names lists the definitions of a kind. If the mirror cannot be read, it returns none, and an answer only lacks a suggestion.
func (s *Server) names(ctx context.Context, kind string) (names []string) {
	switch kind {
	case KindJob:
		jobs, _ := s.back.Replica.Jobs(ctx)
		sees := s.sees(ctx)
		for i := range jobs {
			if name := jobs[i].Job.Name; sees == nil || sees(name) {
				names = append(names, name)
			}
		}
	case KindLimit:
		limits, _ := s.back.Replica.Limits(ctx)
		for i := range limits {
			names = append(names, limits[i].Name)
		}
	}
	return names
}
