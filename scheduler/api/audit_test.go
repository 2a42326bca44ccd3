package api_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func (f *fake) Audits(_ context.Context, before string, limit int) ([]job.Audit, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []job.Audit
	for _, a := range slices.Backward(f.trail) {
		if (before == "" || a.ID < before) && len(list) < limit {
			list = append(list, a)
		}
	}
	return list, f.fail()
}

// record adds an audit record of one hour after the previous one.
func (f *fake) record(verb string, kind job.RecordKind, object, by string) {
	n := len(f.trail) + 1
	f.trail = append(f.trail, job.Audit{
		ID: fmt.Sprintf("%026d", n), At: time.Now().Add(time.Duration(n-50) * time.Hour), Verb: verb, Kind: kind, Object: object,
		Author: job.Author{Principal: by, How: "token"}, Fields: []job.FieldChange{{Name: "env", Before: "hash-before", After: "hash-after"}},
		Rev: int64(n),
	})
}

// objects returns the names of the objects in an answer of /v1/audit.
func objects(t *testing.T, a answer) string {
	t.Helper()
	var names []string
	for _, r := range decode[api.AuditList](t, a).Records {
		names = append(names, string(r.Kind)+" "+r.Object)
	}
	return strings.Join(names, ", ")
}

func TestAuditRecordsAreFilteredAndPaged(t *testing.T) {
	f := newFake()
	f.record("put-job", job.RecordJob, "a", "alice")
	f.record("submit-run", job.RecordRun, "a/1", "bob")
	f.record("put-job", job.RecordJob, "b", "bob")
	f.trail[2].Claimed = "carol"
	srv := serve(t, f.backend())
	for query, want := range map[string]string{
		"":               "jobs b, runs a/1, jobs a",
		"?job=a":         "runs a/1, jobs a",
		"?by=bob":        "jobs b, runs a/1",
		"?by=carol":      "jobs b",
		"?by=bob&job=a":  "runs a/1",
		"?since=48h30m":  "jobs b, runs a/1",
		"?job=none":      "",
		"?limit=2&job=a": "runs a/1, jobs a",
	} {
		if got := objects(t, ask(t, srv, "GET", "/v1/audit"+query, "")); got != want {
			t.Errorf("%s: got %s, want %s", query, got, want)
		}
	}
	var all []string
	next := ""
	for range 5 {
		a := ask(t, srv, "GET", "/v1/audit?limit=1&continue="+next, "")
		all = append(all, objects(t, a))
		if next = decode[api.AuditList](t, a).Continue; next == "" {
			break
		}
	}
	if got := strings.Join(all, ", "); got != "jobs b, runs a/1, jobs a" {
		t.Errorf("page by page: got %s", got)
	}
	for _, query := range []string{"?since=x", "?limit=0", "?continue=../x", "?unknown=1"} {
		if a := ask(t, srv, "GET", "/v1/audit"+query, ""); a.status != 422 {
			t.Errorf("%s: got %d %s", query, a.status, a.text)
		}
	}
}

func TestAuditRecordsFollowTheScopeOfTheirReader(t *testing.T) {
	f := newFake()
	f.record("put-job", job.RecordJob, "in-a", "alice")
	f.record("submit-run", job.RecordRun, "out-a/1", "alice")
	f.record("put-limit", job.RecordLimit, "db", "alice")
	f.record("create-token", "tokens", "abc", "alice")
	b := &bearer{}
	srv := serve(t, f.backend(), func(c *api.Config) { c.Auth = b })
	for _, tt := range []struct {
		role   auth.Role
		scope  []string
		want   string
		hashes bool
	}{
		{auth.Viewer, []string{"in-*"}, "jobs in-a", false},
		{auth.Author, []string{"in-*"}, "jobs in-a", true},
		{auth.Viewer, nil, "limits db, runs out-a/1, jobs in-a", false},
		{auth.Administrator, nil, "tokens abc, limits db, runs out-a/1, jobs in-a", true},
		{auth.Administrator, []string{"out-*"}, "runs out-a/1", true},
	} {
		a := ask(t, srv, "GET", "/v1/audit", "", "Authorization", "Bearer "+b.give(t, tt.role, tt.scope...))
		if got := objects(t, a); got != tt.want || strings.Contains(a.text, "hash-after") != tt.hashes {
			t.Errorf("%s %v: got %s, want %s, hashes %v: %s", tt.role, tt.scope, got, tt.want, tt.hashes, a.text)
		}
	}
	if a := ask(t, srv, "GET", "/v1/audit", ""); a.status != http.StatusUnauthorized {
		t.Errorf("without a token: got %d", a.status)
	}
}

// Each operation that changes something gives its handler the author and the verb for an audit record. The verb is the id of the
// operation, so a new operation needs nothing for it.
func TestEachChangeHasAnAuthor(t *testing.T) {
	type change struct {
		by   job.Author
		verb string
	}
	for _, o := range operations {
		if o.role == "" {
			continue // hooks_test.go checks the author of a delivery
		}
		t.Run(o.method+" "+o.path, func(t *testing.T) {
			back := guarded().backend()
			var seen []change
			back.Audited = func(ctx context.Context, by job.Author, verb string) context.Context {
				seen = append(seen, change{by, verb})
				return ctx
			}
			b := &bearer{}
			srv := serve(t, back, func(c *api.Config) { c.Auth = b })
			token := b.give(t, auth.Administrator)
			a := ask(t, srv, o.method, strings.ReplaceAll(o.path, "JOB", "in"), o.body,
				"Authorization", "Bearer "+token, api.ByHeader, "carol", api.RequestHeader, "r-1")
			if o.method == http.MethodGet {
				if len(seen) > 0 {
					t.Errorf("a request that reads leaves a record: %+v", seen)
				}
				return
			}
			if len(seen) != 1 || seen[0].verb == "" || a.header.Get(api.RequestHeader) != "r-1" {
				t.Fatalf("got %+v, header %v", seen, a.header)
			}
			want := job.Author{Principal: "p-admin", How: "token", Token: b.File.Tokens[0].ID, Remote: "127.0.0.1", Request: "r-1", Claimed: "carol"}
			if seen[0].by != want {
				t.Errorf("got %+v, want %+v", seen[0].by, want)
			}
		})
	}
}

func TestAuthorsWithoutAuthentication(t *testing.T) {
	back := newFake().backend()
	var by job.Author
	back.Audited = func(ctx context.Context, author job.Author, _ string) context.Context {
		by = author
		return ctx
	}
	srv := serve(t, back)
	a := ask(t, srv, "POST", "/v1/jobs/report/pause", "", api.ByHeader, "carol")
	if by.Principal != "anonymous" || by.How != "none" || by.Claimed != "carol" || by.Remote != "127.0.0.1" {
		t.Errorf("got %+v", by)
	}
	if id := a.header.Get(api.RequestHeader); id == "" || id != by.Request {
		t.Errorf("request id %q in the answer, %q in the record", id, by.Request)
	}
}
