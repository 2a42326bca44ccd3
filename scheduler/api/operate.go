package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func (s *Server) submitRun(ctx context.Context, in *struct {
	Job  string `path:"job"`
	Key  string `header:"Idempotency-Key" doc:"The same key returns the run of the first submission" example:"\"8e03978e\""`
	Body *RunRequest
}) (*tagged[RunView], error) {
	if in.Job == job.AdHoc {
		return nil, invalid("path.job", "commands without a job are submitted by `rota submit -- COMMAND`, or at /v1/runs")
	}
	var request RunRequest
	if in.Body != nil {
		request = *in.Body
	}
	return s.submit(ctx, in.Job, in.Key, request, nil)
}

func (s *Server) submitAdHoc(ctx context.Context, in *struct {
	Key  string `header:"Idempotency-Key" doc:"The same key returns the run of the first submission"`
	Body AdHocRequest
}) (*tagged[RunView], error) {
	b := &in.Body
	if (len(b.Command) == 0) == (b.Shell == "") {
		return nil, invalid("body.command", "give either command or shell")
	}
	if b.Timeout < 0 {
		return nil, invalid("body.timeout", "must be positive")
	}
	if b.Workflow {
		return nil, invalid("body.workflow", "no steps are behind a command without a job: leave it out")
	}
	return s.submit(ctx, job.AdHoc, in.Key, b.RunRequest, &job.Spec{
		Command: b.Command, Shell: b.Shell, Env: b.Env, Dir: b.Dir, Timeout: b.Timeout, Workers: b.Workers,
	})
}

func (s *Server) submit(ctx context.Context, name, header string, r RunRequest, spec *job.Spec) (*tagged[RunView], error) {
	now, err := s.changeTime(ctx)
	if err != nil {
		return nil, err
	}
	sub := Submission{Job: name, Kind: job.KindManual, Asked: now, Spec: spec, By: caller(ctx), Workflow: r.Workflow}
	if sub.Key, err = idempotencyKey(header, r.Key); err != nil {
		return nil, err
	}
	if sub.Workflow {
		err := s.requireBehind(ctx, name)
		sub.Earlier = sub.Key != "" && errors.Is(err, job.ErrNotFound)
		if err != nil && !sub.Earlier {
			return nil, s.notFound(ctx, KindJob, name, err)
		}
	}
	if sub.Payload, err = payload(r.Payload); err != nil {
		return nil, err
	}
	if sub.Params, err = params(r.Params); err != nil {
		return nil, err
	}
	if err = checkAdHocSize(spec, sub.Payload); err != nil {
		return nil, err
	}
	if sub.Due, err = due(r.In, r.At, now); err != nil {
		return nil, err
	}
	if !sub.Due.IsZero() {
		sub.Kind = job.KindDelayed
	}
	sub.Due = cmp.Or(sub.Due, now)

	v, created, err := s.back.Replica.Submit(ctx, sub)
	if err != nil {
		return nil, s.notFound(ctx, KindJob, name, err)
	}
	return s.submitted(ctx, v, created, sub.Key, created || sameWork(&sub, &v.Run))
}

// submitted returns the answer to a submission with a key. v is the run that it created, or that of an earlier submission. same
// says whether that one requested the same work.
func (s *Server) submitted(ctx context.Context, v RunView, created bool, key string, same bool) (*tagged[RunView], error) {
	if !same {
		return nil, huma.Error422UnprocessableEntity(fmt.Sprintf(
			"key %q was used for another submission, run %s: use a new key for new work", key, v.Name()))
	}
	return show(statusOf(created), s.maskedRun(ctx, v)), nil
}

// checkAdHocSize limits the size of a run with its own spec, so that the record has enough room for the state of the run.
func checkAdHocSize(spec *job.Spec, payload json.RawMessage) error {
	if spec == nil {
		return nil
	}
	b, err := json.Marshal(spec)
	if size := len(b) + len(payload); err == nil && size > MaxPayload {
		return huma.Error413RequestEntityTooLarge(
			fmt.Sprintf("command, environment and payload have %d bytes: at most %d", size, MaxPayload))
	}
	return nil
}

// sameWork reports whether a submission requests the same work as the run with the same key. It ignores the time, because "in 5
// minutes" means another time in each request. A run that repeats another one was no submission.
func sameWork(s *Submission, r *job.Run) bool {
	if r.RetryOf != "" || !bytes.Equal(compact(s.Payload), compact(r.Payload)) || !maps.Equal(s.Params, r.GivenParams()) {
		return false
	}
	if s.Spec == nil || r.Spec == nil {
		return true
	}
	return slices.Equal(s.Spec.Command, r.Spec.Command) && s.Spec.Shell == r.Spec.Shell &&
		s.Spec.Dir == r.Spec.Dir && maps.Equal(s.Spec.Env, r.Spec.Env) &&
		cmp.Or(s.Spec.Timeout, job.DefaultTimeout) == cmp.Or(r.Spec.Timeout, job.DefaultTimeout) &&
		maps.Equal(s.Spec.Workers, r.Spec.Workers)
}

func compact(raw json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

func (s *Server) cancelRun(ctx context.Context, in *struct {
	Job  string `path:"job"`
	Slot string `path:"slot"`
	Body *ReasonRequest
}) (*tagged[RunView], error) {
	now, err := s.changeTime(ctx)
	if err != nil {
		return nil, err
	}
	c := job.Cancel{At: now, By: caller(ctx), Reason: cmp.Or(in.Body.text(), "canceled by request")}
	v, err := s.back.Replica.Cancel(ctx, in.Job, in.Slot, c)
	if err != nil {
		return nil, s.runNotFound(ctx, in.Job, in.Slot, err)
	}
	return show(http.StatusOK, s.maskedRun(ctx, v)), nil
}

func (s *Server) retryRun(ctx context.Context, in *struct {
	Job    string `path:"job"`
	Slot   string `path:"slot"`
	Key    string `header:"Idempotency-Key" doc:"The same key returns the run of the first repetition"`
	Resume bool   `query:"resume" doc:"Also run the steps again that did not run because of this run, under one new id"`
}) (*tagged[RunView], error) {
	if in.Job == job.AdHoc {
		if err := s.require(ctx, auth.DefineCommand, in.Job); err != nil {
			return nil, err
		}
	}
	if in.Resume {
		if err := s.requireBehind(ctx, in.Job); err != nil {
			return nil, s.notFound(ctx, KindJob, in.Job, err)
		}
	}
	key, err := idempotencyKey(in.Key, "")
	if err != nil {
		return nil, err
	}
	v, created, err := s.back.Replica.Retry(ctx, in.Job, in.Slot, key, caller(ctx), in.Resume)
	if err != nil {
		return nil, s.runNotFound(ctx, in.Job, in.Slot, err)
	}
	return s.submitted(ctx, v, created, key, created || v.RetryOf == in.Job+"/"+in.Slot)
}
