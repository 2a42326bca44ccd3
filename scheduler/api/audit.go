package api

import (
	"context"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// Trail reads the audit records.
type Trail interface {
	// Audits returns the audit records before an id, the latest first, at most limit. An empty id means from the latest on.
	Audits(ctx context.Context, before string, limit int) ([]job.Audit, error)
}

// AuditView is an audit record in the form of the API.
type AuditView struct {
	job.Audit
	Revision int64 `json:"revision" doc:"Store revision of the change"`
}

// AuditList is the body of the list of audit records.
type AuditList struct {
	Records  []AuditView `json:"records"`
	Continue string      `json:"continue,omitempty" doc:"Send it as the parameter of the same name to get the next page"`
}

// NewAuditView returns the view of a.
func NewAuditView(a job.Audit) AuditView { return AuditView{Audit: a, Revision: a.Rev} }

func (s *Server) registerAudit(doc huma.API) {
	if s.back.Trail == nil {
		return
	}
	register(s, doc, operation{
		id: "list-audit", right: auth.Read, method: "GET", path: "/v1/audit",
		summary: "The audit records of changes, latest first",
	}, s.readAudit)
}

type auditInput struct {
	Job      string `query:"job" doc:"Only changes of this job and its runs"`
	By       string `query:"by" doc:"Only changes by this principal, or by a client that claimed this name"`
	Since    string `query:"since" doc:"Only changes since then: a time span (24h, 7d) or a time" example:"24h"`
	Limit    int    `query:"limit" default:"100" minimum:"1" maximum:"1000"`
	Continue string `query:"continue" doc:"Token of the previous page"`
}

// auditPage is how many records the Server reads from the store at a time.
const auditPage = 1000

func (s *Server) readAudit(ctx context.Context, in *auditInput) (*body[AuditList], error) {
	earliest, err := since(in.Since, s.present())
	if err != nil {
		return nil, err
	}
	if strings.Trim(in.Continue, "0123456789abcdefghijklmnopqrstuvwxyz") != "" {
		return nil, invalid("query.continue", "is not the token of a page")
	}
	page, next := AuditList{Records: []AuditView{}}, in.Continue
	for {
		records, err := s.back.Trail.Audits(ctx, next, auditPage)
		if err != nil {
			return nil, err
		}
		for i := range records {
			a := &records[i]
			switch {
			case a.At.Before(earliest) && !a.At.IsZero(): // the time of an unreadable record is unknown
				return &body[AuditList]{page}, nil
			case len(page.Records) == in.Limit:
				page.Continue = next
				return &body[AuditList]{page}, nil
			}
			next = a.ID
			if in.selects(a) && s.seesAudit(ctx, a) {
				page.Records = append(page.Records, NewAuditView(s.maskedAudit(ctx, *a)))
			}
		}
		if len(records) < auditPage {
			return &body[AuditList]{page}, nil
		}
	}
}

func (in *auditInput) selects(a *job.Audit) bool {
	return (in.Job == "" || a.Job() == in.Job) && (in.By == "" || a.Principal == in.By || a.Claimed == in.By)
}

// seesAudit reports whether the caller of a request may see an audit record. A record about a job follows the scope of the caller.
// Records about identities are for administrators. All others are for callers that may read everything.
func (s *Server) seesAudit(ctx context.Context, a *job.Audit) bool {
	c, name := proven(ctx), a.Job()
	switch {
	case s.cfg.Observe:
		return true
	case name != "":
		return c.Sees(s.object(name))
	case openKinds[a.Kind]:
		return c.All(auth.Read)
	}
	return c.May(auth.Admin, auth.Object{})
}

// openKinds has the kinds of records, besides those of jobs, whose changes every caller may see that may read everything.
var openKinds = map[job.RecordKind]bool{job.RecordLimit: true, job.RecordGate: true, job.RecordFiles: true}

// maskedAudit removes the hashes of values if the caller may not see the values. A hash lets its reader test a guess.
func (s *Server) maskedAudit(ctx context.Context, a job.Audit) job.Audit {
	right, on := auth.Admin, s.object(a.Job())
	if on.Job != "" {
		right = auth.Define
	}
	if s.cfg.Observe || len(a.Fields) == 0 || proven(ctx).May(right, on) {
		return a
	}
	fields := make([]job.FieldChange, len(a.Fields))
	for i := range a.Fields {
		fields[i].Name = a.Fields[i].Name
	}
	a.Fields = fields
	return a
}
