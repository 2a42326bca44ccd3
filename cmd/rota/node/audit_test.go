package node

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// audited reports whether a record with a verb is among the records.
func audited(records []api.AuditView, verb string) bool {
	return slices.ContainsFunc(records, func(a api.AuditView) bool { return a.Verb == verb })
}

// Each operation of the API that changes something leaves an audit record. An operation that is in no row below fails the test.
func TestEachOperationThatChangesSomethingLeavesAnAuditRecord(t *testing.T) {
	t.Parallel()
	r := start(t, Config{Settings: settings(t, "q1"), Version: version})
	ask := func(method, path, body string) string {
		t.Helper()
		status, text := ask(t, method, r.Servers()[0]+path, body, "")
		if status >= 300 {
			t.Fatalf("%s %s: %d %s", method, path, status, text)
		}
		return text
	}
	const spec = `{"shell":"true","workers":{"zone":"nowhere"}}` // its runs wait
	const hash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	known := map[string]bool{
		"accept-restored-store": true, // see restored_test.go
		"deliver-hook":          true, // it needs a signature: see test/cluster/hooks_test.go
		"create-login-code":     true, // it signs the client itself in, and changes nothing else
		"import-schedules":      true, // this one and the following two change nothing
		"verify-store":          true,
		"examine-cluster":       true,
	}
	run := ""
	for _, o := range []struct{ verb, method, path, body string }{
		{"put-job", "PUT", "/v1/jobs/j", spec},
		{"put-limit", "PUT", "/v1/limits/db", `{"concurrent":1}`},
		{"delete-limit", "DELETE", "/v1/limits/db", ""},
		{"pause-job", "POST", "/v1/jobs/j/pause", ""},
		{"resume-job", "POST", "/v1/jobs/j/resume", ""},
		{"pause-all", "POST", "/v1/pause", ""},
		{"resume-all", "POST", "/v1/resume", ""},
		{"submit-run", "POST", "/v1/jobs/j/runs", ""},
		{"cancel-run", "POST", "/v1/runs/RUN/cancel", ""},
		{"retry-run", "POST", "/v1/runs/RUN/retry", ""},
		{"put-job", "PUT", "/v1/jobs/asks", `{"shell":"true","workers":{"zone":"nowhere"},"approve":{}}`},
		{"submit-run", "POST", "/v1/jobs/asks/runs", ""},
		{"approve-run", "POST", "/v1/runs/RUN/approve", ""},
		{"cancel-run", "POST", "/v1/runs/RUN/cancel", ""},
		{"submit-run", "POST", "/v1/jobs/asks/runs", ""},
		{"reject-run", "POST", "/v1/runs/RUN/reject", `{"reason":"no"}`},
		{"submit-command", "POST", "/v1/runs", `{"shell":"true","key":"k"}`},
		{"delete-job", "DELETE", "/v1/jobs/j", ""},
		{"put-job", "PUT", "/v1/jobs/past", `{"every":"1h","shell":"true","workers":{"zone":"nowhere"}}`},
		{"start-backfill", "POST", "/v1/jobs/past/backfill", `{"from":"2026-01-01T00:00:00Z","to":"2026-01-01T09:00:00Z"}`},
		{"stop-backfill", "DELETE", "/v1/jobs/past/backfill", ""},
		{"create-token", "POST", "/v1/tokens", `{"id":"aaaabbbbcccc","sha256":"` + hash + `","principal":"ci","role":"viewer"}`},
		{"rotate-token", "POST", "/v1/tokens/aaaabbbbcccc/rotate", `{"id":"ddddeeeeffff","sha256":"` + hash + `"}`},
		{"revoke-token", "DELETE", "/v1/tokens/aaaabbbbcccc", ""},
	} {
		known[o.verb] = true
		text := ask(o.method, strings.ReplaceAll(o.path, "RUN", run), o.body)
		if o.verb == "submit-run" {
			var v api.RunView
			if err := json.Unmarshal([]byte(text), &v); err != nil {
				t.Fatal(err)
			}
			run = v.Ref
		}
		l, err := r.Audit(t.Context(), client.AuditFilter{Limit: 1000}, "")
		if err != nil {
			t.Fatal(err)
		}
		if !audited(l.Records, o.verb) {
			t.Errorf("%s left no audit record", o.verb)
		}
	}
	l, err := r.Audit(t.Context(), client.AuditFilter{Job: "j", Since: "1h"}, "")
	if err != nil || len(l.Records) != 7 {
		t.Errorf("records of the job: got %d, %v, want 7", len(l.Records), err)
	}
	line, err := r.Client.Timeline(t.Context(), "1h", "past")
	var told []string
	for _, e := range line.Entries {
		_, deed, _ := strings.Cut(e.Text, " ")
		told = append(told, deed)
	}
	want := []string{"created job past.", "started the backfill of job past.", "stopped the backfill of job past."}
	if err != nil || !slices.Equal(told, want) {
		t.Errorf("timeline of a job: got %q, %v, want %q", told, err, want)
	}

	var doc struct {
		Paths map[string]map[string]struct {
			ID string `json:"operationId"`
		}
	}
	if err := json.Unmarshal([]byte(ask("GET", "/v1/openapi.json", "")), &doc); err != nil {
		t.Fatal(err)
	}
	for path, methods := range doc.Paths {
		for method, o := range methods {
			if method != "get" && !known[o.ID] {
				t.Errorf("%s %s: operation %s is in no row", method, path, o.ID)
			}
		}
	}
}

// Programs submit with keys at high rates. The run names its author itself, and an audit record would double the writes.
func TestASubmissionWithAKeyLeavesOnlyItsRun(t *testing.T) {
	t.Parallel()
	r := start(t, Config{Settings: settings(t, "q1"), Version: version})
	r.put(t, "j", job.Spec{Shell: "true"})
	v, _, err := r.Submit(t.Context(), "j", api.RunRequest{Key: "k"})
	if err != nil || !strings.HasPrefix(v.By, "tester from ") {
		t.Errorf("got %+v, %v, want the author", v, err)
	}
	l, err := r.Audit(t.Context(), client.AuditFilter{}, "")
	if err != nil || len(l.Records) != 1 {
		t.Errorf("got %+v, %v, want the record of the job alone", l.Records, err)
	}
}
