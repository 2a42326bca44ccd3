package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// Approver lets a person decide about a run that waits for an approval.
type Approver interface {
	// Decide approves or rejects a run. may returns an error if the caller is none of those whom the rule of the run names. The same
	// decision of the same person again changes nothing. Decide returns job.ErrNotFound for an unknown run, and *Refusal for a run
	// that has ended, that waits for nobody, or about which somebody else has decided.
	Decide(ctx context.Context, jobName, id string, v job.Verdict, may func(by []string) error) (RunView, error)
}

// RejectRequest is the body of a rejection.
type RejectRequest struct {
	Reason string `json:"reason" minLength:"1" maxLength:"500" doc:"Shown as the reason of the run"`
}

func (s *Server) registerApprovals(doc huma.API) {
	register(s, doc, operation{
		id: "approve-run", right: auth.Operate, method: "POST", path: "/v1/runs/{job}/{slot}/approve",
		summary: "Approve a run that waits for a person", errors: []int{403, 404, 409},
	}, s.approveRun)
	register(s, doc, operation{
		id: "reject-run", right: auth.Operate, method: "POST", path: "/v1/runs/{job}/{slot}/reject",
		summary: "Reject a run that waits for a person; it is skipped", errors: []int{403, 404, 409},
	}, s.rejectRun)
}

func (s *Server) approveRun(ctx context.Context, in *struct {
	Job  string `path:"job"`
	Slot string `path:"slot"`
	Body *ReasonRequest
}) (*tagged[RunView], error) {
	return s.decideRun(ctx, in.Job, in.Slot, job.Verdict{Approved: true, Reason: in.Body.text()})
}

func (s *Server) rejectRun(ctx context.Context, in *struct {
	Job  string `path:"job"`
	Slot string `path:"slot"`
	Body RejectRequest
}) (*tagged[RunView], error) {
	return s.decideRun(ctx, in.Job, in.Slot, job.Verdict{Reason: in.Body.Reason})
}

func (s *Server) decideRun(ctx context.Context, name, id string, verdict job.Verdict) (*tagged[RunView], error) {
	now, err := s.changeTime(ctx)
	if err != nil {
		return nil, err
	}
	verdict.At, verdict.Who = now, caller(ctx)
	v, err := s.back.Replica.Decide(ctx, name, id, verdict, func(by []string) error { return s.named(ctx, by) })
	if err != nil {
		return nil, s.runNotFound(ctx, name, id, err)
	}
	return show(http.StatusOK, s.maskedRun(ctx, v)), nil
}

// named returns an error if by names neither the caller of a request nor a group of it. An empty list names every operator. While
// authentication is off, nobody can be named, and every caller may decide.
func (s *Server) named(ctx context.Context, by []string) error {
	c := proven(ctx)
	if len(by) == 0 || c.Anonymous() || slices.Contains(by, c.Principal) ||
		slices.ContainsFunc(c.Groups, func(group string) bool { return slices.Contains(by, group) }) {
		return nil
	}
	if s.cfg.Observe {
		s.log.Info("request would be refused", "principal", c.String(), "approve.by", by)
		return nil
	}
	return huma.Error403Forbidden(fmt.Sprintf("%s may not decide about this run: the job names %s", c, strings.Join(by, ", ")))
}
