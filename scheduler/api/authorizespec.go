package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// requireForSpec returns an error if the caller lacks the right for a definition. It checks both the new action and labels, and
// those that the definition replaces. Otherwise a caller could take over a command by a change of its job, or give a job
// to another team. A nil text stands for the removal of the job.
func (s *Server) requireForSpec(ctx context.Context, name string, text json.RawMessage) error {
	var next struct {
		Notify, Ping json.RawMessage
		Labels       map[string]labelValue
	}
	_ = json.Unmarshal(text, &next) // the Backend reports mistakes
	current, err := s.back.Replica.Job(ctx, name)
	known, right := err == nil, auth.Define
	if givesProgram(text) || known && executes(current.Spec) || !known && !errors.Is(err, job.ErrNotFound) {
		right = auth.DefineCommand
	}
	if text == nil {
		return s.require(ctx, right, name)
	}
	if known || !errors.Is(err, job.ErrNotFound) {
		if err := s.refusalOfSpec(ctx, right, s.object(name)); err != nil {
			return err
		}
	}
	labels := make(map[string]string, len(next.Labels))
	for key, value := range next.Labels {
		labels[key] = string(value)
	}
	if err := s.refusalOfSpec(ctx, right, auth.Object{Job: name, Labels: labels}); err != nil {
		return err
	}
	if len(next.Notify) > 0 && next.Notify[0] == '{' || newPing(next.Ping, current.Spec) { // URLs, to which the leader sends
		return s.require(ctx, auth.Admin, "")
	}
	return nil
}

// refusalOfSpec returns an error if the caller lacks a right for a definition. If the definition is outside of its roles, the
// message is the same whether the job exists or not. So a caller that forgot a label understands it, and nobody learns the names
// of other jobs.
func (s *Server) refusalOfSpec(ctx context.Context, right auth.Right, on auth.Object) error {
	status, detail := s.decideOn(ctx, right, on)
	if status == 0 {
		return nil
	}
	if status == http.StatusNotFound {
		detail = fmt.Sprintf("no role of %s covers this definition of job %q: `rota whoami` lists the names and labels "+
			"that your roles cover", proven(ctx), on.Job)
	}
	s.countRefusal(status)
	return huma.NewError(status, detail)
}

// newPing reports whether a definition has a ping that differs from that of the present definition. before may be nil.
func newPing(text json.RawMessage, before *job.Spec) bool {
	var next job.Ping
	switch {
	case len(text) == 0 || string(text) == "null":
		return false
	case json.Unmarshal(text, &next.URL) != nil && json.Unmarshal(text, &next) != nil:
		return true // the Backend reports the mistake
	}
	return before == nil || before.Ping == nil || *before.Ping != next
}

// labelValue is the value of a label in a request. A number or true stands for its text, as in job files.
type labelValue string

// UnmarshalJSON implements json.Unmarshaler.
func (v *labelValue) UnmarshalJSON(b []byte) error {
	text := string(b)
	if b[0] == '"' {
		if err := json.Unmarshal(b, &text); err != nil {
			return fmt.Errorf("read label: %w", err)
		}
	}
	*v = labelValue(text)
	return nil
}

// givesProgram reports whether the JSON of a definition has an action that is a program. A name in another case counts too,
// because package json reads it.
func givesProgram(text json.RawMessage) bool {
	var given map[string]json.RawMessage
	_ = json.Unmarshal(text, &given) // the Backend reports mistakes
	for name := range given {
		if slices.ContainsFunc(job.ProgramKinds(), func(kind string) bool { return strings.EqualFold(kind, name) }) {
			return true
		}
	}
	return false
}

// executes reports whether a job executes programs. It returns true for an unreadable job, which may do so.
func executes(spec *job.Spec) bool {
	return spec == nil || spec.RunsProgram()
}
