package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// others are the operations that the client does not have, with the reason.
var others = map[string]string{
	"deliver-hook": "the sender of a webhook signs it, by the Standard Webhooks",
	"watch-live":   "pages watch it; Client.Events has each change",
}

// calls has a call of the client for each operation of the OpenAPI document.
var calls = map[string]func(ctx context.Context, c *client.Client) error{
	"read-cluster": func(ctx context.Context, c *client.Client) error { _, err := c.Cluster(ctx); return err },
	"list-jobs":    func(ctx context.Context, c *client.Client) error { _, err := c.Jobs(ctx); return err },
	"read-job":     func(ctx context.Context, c *client.Client) error { _, err := c.Job(ctx, "a"); return err },
	"find-jobs": func(ctx context.Context, c *client.Client) error {
		_, err := c.FindJobs(ctx, client.JobFilter{}, "")
		return err
	},
	"list-calendars": func(ctx context.Context, c *client.Client) error { _, err := c.Calendars(ctx); return err },
	"read-overview":  func(ctx context.Context, c *client.Client) error { _, err := c.Overview(ctx); return err },
	"read-gantt": func(ctx context.Context, c *client.Client) error {
		_, err := c.Gantt(ctx, client.GanttFilter{}, "")
		return err
	},
	"read-load": func(ctx context.Context, c *client.Client) error { _, err := c.Load(ctx); return err },
	"read-month": func(ctx context.Context, c *client.Client) error {
		_, err := c.Month(ctx, "a", 2026, time.May)
		return err
	},
	"read-workflow":      func(ctx context.Context, c *client.Client) error { _, err := c.Workflow(ctx, "a", ""); return err },
	"list-workflow-runs": func(ctx context.Context, c *client.Client) error { _, err := c.WorkflowRuns(ctx, "a", 5); return err },
	"next-slots": func(ctx context.Context, c *client.Client) error {
		_, err := c.Next(ctx, "a", time.Time{}, 3)
		return err
	},
	"explain-slot": func(ctx context.Context, c *client.Client) error {
		_, err := c.Explain(ctx, "a", time.Now())
		return err
	},
	"list-limits":  func(ctx context.Context, c *client.Client) error { _, err := c.Limits(ctx); return err },
	"list-workers": func(ctx context.Context, c *client.Client) error { _, err := c.Workers(ctx); return err },
	"list-runs": func(ctx context.Context, c *client.Client) error {
		_, err := c.Runs(ctx, client.RunFilter{}, "")
		return err
	},
	"read-run":  func(ctx context.Context, c *client.Client) error { _, err := c.Run(ctx, "a/1"); return err },
	"read-logs": func(ctx context.Context, c *client.Client) error { _, err := c.Logs(ctx, "a/1", 0, false); return err },
	"list-audit": func(ctx context.Context, c *client.Client) error {
		_, err := c.Audit(ctx, client.AuditFilter{}, "")
		return err
	},
	"read-timeline":         func(ctx context.Context, c *client.Client) error { _, err := c.Timeline(ctx, "1h", ""); return err },
	"read-incident":         func(ctx context.Context, c *client.Client) error { _, err := c.Incident(ctx, time.Time{}); return err },
	"list-backfills":        func(ctx context.Context, c *client.Client) error { _, err := c.Backfills(ctx); return err },
	"read-backfill":         func(ctx context.Context, c *client.Client) error { _, err := c.Backfill(ctx, "a"); return err },
	"list-tokens":           func(ctx context.Context, c *client.Client) error { _, err := c.Tokens(ctx); return err },
	"read-login":            func(ctx context.Context, c *client.Client) error { _, err := c.SignIn(ctx); return err },
	"create-login-code":     func(ctx context.Context, c *client.Client) error { _, err := c.LoginCode(ctx); return err },
	"pause-job":             func(ctx context.Context, c *client.Client) error { _, err := c.PauseJob(ctx, "a", ""); return err },
	"resume-job":            func(ctx context.Context, c *client.Client) error { _, err := c.ResumeJob(ctx, "a", ""); return err },
	"pause-all":             func(ctx context.Context, c *client.Client) error { _, err := c.PauseAll(ctx, ""); return err },
	"resume-all":            func(ctx context.Context, c *client.Client) error { _, err := c.ResumeAll(ctx, ""); return err },
	"cancel-run":            func(ctx context.Context, c *client.Client) error { _, err := c.Cancel(ctx, "a/1", ""); return err },
	"approve-run":           func(ctx context.Context, c *client.Client) error { _, err := c.Approve(ctx, "a/1", ""); return err },
	"reject-run":            func(ctx context.Context, c *client.Client) error { _, err := c.Reject(ctx, "a/1", ""); return err },
	"retry-run":             func(ctx context.Context, c *client.Client) error { _, err := c.Retry(ctx, "a/1"); return err },
	"revoke-token":          func(ctx context.Context, c *client.Client) error { return c.RevokeToken(ctx, "t") },
	"delete-job":            func(ctx context.Context, c *client.Client) error { return c.DeleteJob(ctx, "a", api.Precondition{}) },
	"delete-limit":          func(ctx context.Context, c *client.Client) error { return c.DeleteLimit(ctx, "l", api.Precondition{}) },
	"stop-backfill":         func(ctx context.Context, c *client.Client) error { _, err := c.StopBackfill(ctx, "a"); return err },
	"accept-restored-store": func(ctx context.Context, c *client.Client) error { _, err := c.AcceptRestored(ctx); return err },
	"verify-store":          func(ctx context.Context, c *client.Client) error { _, err := c.Verify(ctx); return err },
	"examine-cluster":       func(ctx context.Context, c *client.Client) error { _, err := c.Doctor(ctx); return err },
	"import-schedules": func(ctx context.Context, c *client.Client) error {
		_, err := c.Import(ctx, api.ImportRequest{})
		return err
	},
	"start-backfill": func(ctx context.Context, c *client.Client) error {
		_, err := c.StartBackfill(ctx, "a", api.BackfillRequest{})
		return err
	},
	"submit-run": func(ctx context.Context, c *client.Client) error {
		_, _, err := c.Submit(ctx, "a", api.RunRequest{})
		return err
	},
	"submit-command": func(ctx context.Context, c *client.Client) error {
		_, _, err := c.SubmitCommand(ctx, api.AdHocRequest{})
		return err
	},
	"put-job": func(ctx context.Context, c *client.Client) error {
		_, _, err := c.PutJob(ctx, "a", job.Spec{}, api.Precondition{})
		return err
	},
	"put-limit": func(ctx context.Context, c *client.Client) error {
		_, err := c.PutLimit(ctx, "l", job.LimitSpec{}, api.Precondition{})
		return err
	},
	"create-token": func(ctx context.Context, c *client.Client) error {
		_, err := c.CreateToken(ctx, api.CreateTokenRequest{})
		return err
	},
	"rotate-token": func(ctx context.Context, c *client.Client) error {
		_, err := c.RotateToken(ctx, "t", api.RotateTokenRequest{})
		return err
	},
	"watch-events": func(ctx context.Context, c *client.Client) error {
		for _, err := range c.Events(ctx, client.EventFilter{}) {
			return err
		}
		return nil
	},
}

// TestTheClientHasEachOperation compares the requests of the client with the OpenAPI document.
func TestTheClientHasEachOperation(t *testing.T) {
	var doc struct {
		Paths map[string]map[string]struct{ OperationID string }
	}
	if err := json.Unmarshal([]byte(ask(t, serve(t, newFake().backend()), "GET", "/v1/openapi.json", "").text), &doc); err != nil {
		t.Fatal(err)
	}
	asked := make(chan string, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.URL.EscapedPath()
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"status": 404, "detail": "nothing here"}`))
	}))
	defer srv.Close()
	c, err := client.New(client.Config{Servers: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	known := map[string]bool{}
	for path, methods := range doc.Paths {
		for method, operation := range methods {
			id, want := operation.OperationID, strings.ToUpper(method)+" "+path
			known[id] = true
			call, reason := calls[id], others[id]
			if call == nil && reason == "" || call != nil && reason != "" {
				t.Errorf("%s, %s: the client needs either a method or a reason", id, want)
			}
			if call == nil {
				continue
			}
			if err := call(t.Context(), c); err == nil {
				t.Errorf("%s: the call succeeds at a server that refuses all", id)
			}
			if got := <-asked; !fits(got, want) {
				t.Errorf("%s: the client asks for %s, want %s", id, got, want)
			}
		}
	}
	for id := range calls {
		if !known[id] {
			t.Errorf("the document lacks %s", id)
		}
	}
}

// fits reports whether a request has the method and the path of a pattern such as GET /v1/jobs/{job}.
func fits(request, pattern string) bool {
	got, want := strings.Split(request, "/"), strings.Split(pattern, "/")
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		if got[i] != want[i] && !strings.HasPrefix(want[i], "{") {
			return false
		}
	}
	return true
}
