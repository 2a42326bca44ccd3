package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// asking returns a cluster with a run that waits for one of by.
func asking(by ...string) *fake {
	f := newFake()
	r := job.Run{Job: "backup", ID: "r", Kind: job.KindManual, State: job.Pending}
	f.putRun(r.Ask(&job.Approve{By: by, Within: job.Duration(time.Hour)}, time.Now()))
	return f
}

func TestOnlyThoseWhomTheRuleNamesDecide(t *testing.T) {
	for name, c := range map[string]struct {
		by     []string
		role   auth.Role
		groups []string
		status int
		text   string
	}{
		"an operator, if the rule names nobody":        {nil, auth.Operator, nil, 200, `"who":"p-operator from`},
		"an operator whom the rule names":              {[]string{"ann", "p-operator"}, auth.Operator, nil, 200, `"who":"p-operator from`},
		"a member of a group that the rule names":      {[]string{"sre"}, auth.Operator, []string{"dev", "sre"}, 200, `"who":"p-operator from`},
		"an operator whom the rule does not name":      {[]string{"sre"}, auth.Operator, []string{"dev"}, 403, "the job names sre"},
		"an administrator whom the rule does not name": {[]string{"sre", "ann"}, auth.Administrator, nil, 403, "the job names sre, ann"},
		"a viewer whom the rule names":                 {[]string{"p-viewer"}, auth.Viewer, nil, 403, "operate"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, action := range []string{"approve", "reject"} {
				b := &bearer{}
				header := "Bearer " + b.give(t, c.role)
				b.File.Tokens[0].Groups = c.groups
				srv := serve(t, asking(c.by...).backend(), func(cfg *api.Config) { cfg.Auth = b })
				a := ask(t, srv, "POST", "/v1/runs/backup/r/"+action, `{"reason":"why"}`, "Authorization", header)
				if a.status != c.status || !strings.Contains(a.text, c.text) {
					t.Errorf("%s: got %d %s, want %d with %s", action, a.status, a.text, c.status, c.text)
				}
			}
		})
	}
}

func TestApproveAndReject(t *testing.T) {
	f := asking("sre")
	f.putRun(job.Run{Job: "backup", ID: "ended", State: job.Failed})
	srv := serve(t, f.backend()) // while authentication is off, every caller may decide
	if a := ask(t, srv, "POST", "/v1/runs/backup/r/reject", ""); a.status != 422 && a.status != 400 {
		t.Errorf("a rejection without a reason: got %d %s", a.status, a.text)
	}
	for _, action := range []string{"approve", "reject"} {
		if a := ask(t, srv, "POST", "/v1/runs/backup/x/"+action, `{"reason":"why"}`); a.status != 404 {
			t.Errorf("%s of no run: got %d, want 404", action, a.status)
		}
		a := ask(t, srv, "POST", "/v1/runs/backup/ended/"+action, `{"reason":"why"}`)
		if a.problem(t); a.status != 409 {
			t.Errorf("%s of an ended run: got %d %s, want 409", action, a.status, a.text)
		}
	}
	v := decode[api.RunView](t, ask(t, srv, "POST", "/v1/runs/backup/r/approve", ""))
	if v.State != job.Pending || v.AwaitsApproval() || v.Approval == nil || !v.Approval.Approved || !v.Due.Equal(v.Approval.At) {
		t.Errorf("approved: got %+v, want it due", v)
	}
	if a := ask(t, srv, "POST", "/v1/runs/backup/r/reject", `{"reason":"late"}`); a.status != 409 {
		t.Errorf("rejection of an approved run: got %d %s, want 409", a.status, a.text)
	}

	srv = serve(t, asking().backend())
	v = decode[api.RunView](t, ask(t, srv, "POST", "/v1/runs/backup/r/reject", `{"reason":"not yet"}`))
	if v.State != job.Skipped || !strings.HasPrefix(v.Reason, "rejected by ") || !strings.HasSuffix(v.Reason, ": not yet") {
		t.Errorf("rejected: got %+v, want it skipped with the reason", v)
	}
}
