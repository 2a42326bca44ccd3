package api_test

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// bearer authenticates callers by the tokens of a directory.
type bearer struct{ auth.Directory }

func (b *bearer) Authenticate(r *http.Request) (auth.Caller, error) {
	text, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return auth.Caller{}, nil
	}
	return b.ByToken(text, time.Now())
}

// give makes a token with a role.
func (b *bearer) give(t *testing.T, role auth.Role, jobs ...string) string {
	t.Helper()
	secret, err := auth.NewSecret(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	b.File.Tokens = append(b.File.Tokens, auth.Token{
		ID: secret.ID, Hash: secret.Hash(), Principal: "p-" + string(role), Role: role, Jobs: jobs,
	})
	return secret.Text()
}

// proven authenticates every request as of one caller.
type proven auth.Caller

func (p proven) Authenticate(*http.Request) (auth.Caller, error) { return auth.Caller(p), nil }

// guarded returns a cluster with jobs inside and outside of a scope. Each job contains a secret.
func guarded() *fake {
	f := newFake()
	f.note = "jobs.yaml:3:5: job out-http has no schedule"
	for _, name := range []string{"in-http", "out-http"} {
		f.putJob(job.Job{Name: name, Origin: job.Origin{Kind: job.OriginAPI}, Generation: 1, Spec: &job.Spec{
			HTTP: &job.HTTP{URL: "http://x/", Headers: map[string]string{"Authorization": "literal-secret"}},
		}})
	}
	for _, name := range []string{"in-shell", "out-shell"} {
		f.putJob(job.Job{Name: name, Origin: job.Origin{Kind: job.OriginAPI}, Generation: 1, Spec: &job.Spec{
			Shell: "true", Env: map[string]string{"PASSWORD": "literal-secret"},
		}})
		f.putRun(job.Run{Job: name, ID: "r", State: job.Failed, Spec: &job.Spec{Shell: "true", Env: map[string]string{"PASSWORD": "literal-secret"}}})
	}
	return f
}

// The bodies of requests about tokens.
const (
	newSecret = `{"id":"ddddeeeeffff","sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}`
	newToken  = `{"id":"ddddeeeeffff","sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","principal":"ci","role":"viewer","life":"90d"}`
)

// operations lists all operations of /v1, each with the weakest role that may call it; without a role, everybody may. JOB stands for the name of a job.
var operations = []struct {
	method, path, body string
	role               auth.Role
	whole              bool // it concerns the whole cluster, so a role with a scope is not enough
}{
	{"GET", "/v1/login", "", "", false},
	{"GET", "/v1/cluster", "", auth.Viewer, false},
	{"GET", "/v1/jobs", "", auth.Viewer, false},
	{"GET", "/v1/jobs/JOB-http", "", auth.Viewer, false},
	{"GET", "/v1/limits", "", auth.Viewer, false},
	{"GET", "/v1/calendars", "", auth.Viewer, false},
	{"GET", "/v1/runs", "", auth.Viewer, false},
	{"GET", "/v1/runs/JOB-shell/r", "", auth.Viewer, false},
	{"GET", "/v1/workers", "", auth.Viewer, false},
	{"GET", "/v1/audit", "", auth.Viewer, false},
	{"GET", "/v1/overview", "", auth.Viewer, false},
	{"GET", "/v1/gantt?from=2026-01-31T02:00:00Z&until=2026-01-31T03:00:00Z", "", auth.Viewer, false},
	{"GET", "/v1/gantt?from=2026-01-31T02:00:00Z&until=2026-01-31T03:00:00Z&job=JOB-http", "", auth.Viewer, false},
	{"GET", "/v1/jobs/JOB-http/month?month=2026-01", "", auth.Viewer, false},
	{"GET", "/v1/jobs/JOB-http/workflow/runs", "", auth.Viewer, false},
	{"GET", "/v1/load", "", auth.Viewer, false},
	{"GET", "/v1/find/jobs", "", auth.Viewer, false},
	{"GET", "/v1/jobs/JOB-http/next", "", auth.Viewer, false},
	{"GET", "/v1/jobs/JOB-http/explain?at=2026-01-01T00:00:00Z", "", auth.Viewer, false},
	{"GET", "/v1/jobs/JOB-http/workflow", "", auth.Viewer, false},
	{"GET", "/v1/timeline", "", auth.Viewer, false},
	{"GET", "/v1/incident", "", auth.Viewer, true},
	{"GET", "/v1/events", "", auth.Viewer, false},
	{"GET", "/v1/live", "", auth.Viewer, false},
	{"GET", "/v1/runs/JOB-shell/r/logs", "", auth.Viewer, false},
	{"POST", "/v1/hooks/deployed", "", "", false}, // its proof is a signature
	{"POST", "/v1/login-codes", "", auth.Viewer, false},
	{"POST", "/v1/jobs/JOB-http/pause", "", auth.Operator, false},
	{"POST", "/v1/jobs/JOB-http/resume", "", auth.Operator, false},
	{"POST", "/v1/jobs/JOB-shell/runs", "", auth.Operator, false},
	{"POST", "/v1/runs/JOB-shell/r/retry", "", auth.Operator, false},
	{"POST", "/v1/runs/JOB-shell/r/cancel", "", auth.Operator, false},
	{"POST", "/v1/runs/JOB-shell/r/approve", "", auth.Operator, false},
	{"POST", "/v1/runs/JOB-shell/r/reject", `{"reason":"no"}`, auth.Operator, false},
	{"GET", "/v1/backfills", "", auth.Viewer, false},
	{"GET", "/v1/jobs/JOB-http/backfill", "", auth.Viewer, false},
	{"POST", "/v1/jobs/JOB-http/backfill", `{"from":"2026-01-01T00:00:00Z","to":"2026-01-02T00:00:00Z"}`, auth.Operator, false},
	{"DELETE", "/v1/jobs/JOB-http/backfill", "", auth.Operator, false},
	{"PUT", "/v1/jobs/JOB-new", `{"every":"1h","http":{"url":"http://x/"}}`, auth.Author, false},
	{"PUT", "/v1/jobs/JOB-http", `{"every":"1h","http":{"url":"http://x/"}}`, auth.Author, false},
	{"PUT", "/v1/jobs/JOB-http", `{"every":"1h","shell":"id"}`, auth.AuthorCommand, false},
	{"PUT", "/v1/jobs/JOB-shell", `{"every":"1h","http":{"url":"http://x/"}}`, auth.AuthorCommand, false},
	{"PUT", "/v1/jobs/JOB-new", `{"every":"1h","command":["id"]}`, auth.AuthorCommand, false},
	{"DELETE", "/v1/jobs/JOB-http", "", auth.Author, false},
	{"DELETE", "/v1/jobs/JOB-shell", "", auth.AuthorCommand, false},
	{"POST", "/v1/runs", `{"shell":"id"}`, auth.AuthorCommand, true},
	{"PUT", "/v1/jobs/JOB-http", `{"every":"1h","http":{"url":"http://x/"},"notify":{"x":{"url":"generic://host/"}}}`, auth.Administrator, true},
	{"PUT", "/v1/jobs/JOB-http", `{"every":"1h","http":{"url":"http://x/"},"ping":"https://host/"}`, auth.Administrator, true},
	{"PUT", "/v1/limits/db", `{"concurrent":4}`, auth.Administrator, true},
	{"DELETE", "/v1/limits/db", "", auth.Administrator, true},
	{"GET", "/v1/tokens", "", auth.Administrator, true},
	{"POST", "/v1/tokens", newToken, auth.Administrator, true},
	{"POST", "/v1/tokens/aaaabbbbcccc/rotate", newSecret, auth.Administrator, true},
	{"DELETE", "/v1/tokens/aaaabbbbcccc", "", auth.Administrator, true},
	{"POST", "/v1/pause", "", auth.Administrator, true},
	{"POST", "/v1/resume", "", auth.Administrator, true},
	{"POST", "/v1/accept-restored-store", "", auth.Administrator, true},
	{"POST", "/v1/import", `{"kind":"crontab","text":"@daily backup"}`, auth.Author, false},
	{"POST", "/v1/verify", "", auth.Administrator, true},
	{"POST", "/v1/doctor", "", auth.Administrator, true},
}

func TestEachOperationNeedsItsRight(t *testing.T) {
	rank := map[auth.Role]int{}
	for i, role := range auth.Roles() {
		rank[role] = i
	}
	for _, o := range operations {
		t.Run(o.method+" "+o.path+" "+o.body, func(t *testing.T) {
			for _, role := range append(auth.Roles(), "") {
				for _, scoped := range []bool{false, true} {
					b := &bearer{}
					headers := []string{}
					if role != "" {
						scope := []string(nil)
						if scoped {
							scope = []string{"in-*"}
						}
						headers = []string{"Authorization", "Bearer " + b.give(t, role, scope...)}
					}
					for _, where := range []string{"in", "out"} {
						srv := serve(t, guarded().backend(), func(c *api.Config) { c.Auth = b })
						a := ask(t, srv, o.method, strings.ReplaceAll(o.path, "JOB", where), o.body, headers...)
						enough := role != "" && rank[role] >= rank[o.role] && (!scoped || !o.whole)
						ofJob := strings.Contains(o.path, "JOB")
						want := 0 // any status except a refusal
						switch {
						case o.role == "":
						case role == "":
							want = 401
						case scoped && where == "out" && ofJob:
							want = 404
						case !enough:
							want = 403
						}
						refused := a.status == 401 || a.status == 403 || a.status == 404 && (strings.Contains(a.text, "there is no job") || strings.Contains(a.text, "no role of"))
						if want == 0 && refused || want != 0 && a.status != want {
							t.Errorf("role %q, scoped %v, job %s: got %d %s, want %d", role, scoped, where, a.status, a.text, want)
						}
						srv.Close()
					}
				}
			}
		})
	}
}

// Each kind of action but these two is a program, so the right to define jobs is not enough for it. The case of its name does not
// matter.
func TestADefinitionOfAProgramNeedsItsRight(t *testing.T) {
	b := &bearer{}
	token := b.give(t, auth.Author)
	srv := serve(t, guarded().backend(), func(c *api.Config) { c.Auth = b })
	for _, kind := range job.Kinds() {
		for _, name := range []string{kind, strings.ToUpper(kind)} {
			a := ask(t, srv, "PUT", "/v1/jobs/in-new", `{"`+name+`":null}`, "Authorization", "Bearer "+token)
			if refused := a.status == 403; refused != (kind != "http" && kind != "handler") {
				t.Errorf("%s: got %d %s", name, a.status, a.text)
			}
		}
	}
}

// Each operation of the OpenAPI document is in the table above. So a new operation needs a decision about its right.
func TestEachOperationIsInTheTable(t *testing.T) {
	srv := serve(t, guarded().backend())
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal([]byte(ask(t, srv, "GET", "/v1/openapi.json", "").text), &doc); err != nil {
		t.Fatal(err)
	}
	template := strings.NewReplacer("JOB-shell/runs", "{job}/runs", "JOB-shell/r", "{job}/{slot}", "JOB-shell", "{job}", "JOB-http", "{job}",
		"JOB-new", "{job}", "limits/db", "limits/{limit}", "aaaabbbbcccc", "{token}", "hooks/deployed", "hooks/{hook}")
	known := map[string]bool{}
	for _, o := range operations {
		path, _, _ := strings.Cut(o.path, "?")
		known[o.method+" "+template.Replace(path)] = true
	}
	for path, methods := range doc.Paths {
		for method := range methods {
			if o := strings.ToUpper(method) + " " + path; !known[o] {
				t.Errorf("%s is in no row", o)
			}
		}
	}
}

func TestNamesAndSecretsOutOfScopeAreAbsent(t *testing.T) {
	b := &bearer{}
	viewer := b.give(t, auth.Viewer, "in-*")
	srv := serve(t, guarded().backend(), func(c *api.Config) { c.Auth = b })
	for _, path := range []string{"/v1/jobs", "/v1/runs", "/v1/cluster", "/v1/jobs/in-http", "/v1/jobs/in-shell", "/v1/runs/in-shell/r", "/v1/jobs/in-htp", "/v1/jobs/out-htt", "/v1/overview", "/v1/find/jobs", "/v1/gantt?from=2026-01-31T02:00:00Z&until=2026-01-31T03:00:00Z"} {
		a := ask(t, srv, "GET", path, "", "Authorization", "Bearer "+viewer)
		if strings.Contains(a.text, "out-shell") || strings.Contains(a.text, "out-http") && path != "/v1/jobs/out-http" {
			t.Errorf("%s names a job that the caller cannot see: %s", path, a.text)
		}
		if strings.Contains(a.text, "literal-secret") {
			t.Errorf("%s shows a secret to a viewer: %s", path, a.text)
		}
	}
	author := b.give(t, auth.AuthorCommand)
	if a := ask(t, srv, "GET", "/v1/jobs/in-shell", "", "Authorization", "Bearer "+author); !strings.Contains(a.text, "literal-secret") {
		t.Errorf("an author does not see the definition: %s", a.text)
	}
	for _, path := range []string{"/livez", "/version"} {
		if a := ask(t, srv, "GET", path, ""); a.status != http.StatusOK {
			t.Errorf("%s without a token: got %d", path, a.status)
		}
	}
}

func TestAWrongTokenIsNobody(t *testing.T) {
	b := &bearer{}
	good := b.give(t, auth.Administrator)
	srv := serve(t, guarded().backend(), func(c *api.Config) { c.Auth = b })
	for _, header := range []string{"Bearer " + good + "x", "Bearer ", "Basic " + good, good, "Bearer rota_x_y_z"} {
		a := ask(t, srv, "GET", "/v1/jobs", "", "Authorization", header)
		if a.status != http.StatusUnauthorized || a.header.Get("WWW-Authenticate") == "" || strings.Contains(a.text, good) {
			t.Errorf("%q: got %d %s", header, a.status, a.text)
		}
	}
	if a := ask(t, srv, "POST", "/v1/jobs/in-http/pause", `{"reason":"x"}`, "Authorization", "Bearer "+good); !strings.Contains(a.text, "p-admin from") {
		t.Errorf("a record does not name the principal: %s", a.text)
	}
	observed := serve(t, guarded().backend(), func(c *api.Config) { c.Auth, c.Observe = b, true })
	if a := ask(t, observed, "GET", "/v1/jobs", ""); a.status != http.StatusOK || !strings.Contains(a.text, "out-shell") {
		t.Errorf("observe refuses: %d", a.status)
	}
}

// A replica reads output from a worker for a client that may read it. The client may have presented a certificate, which the
// replica cannot forward.
func TestProcessesOfTheClusterReadOutputAlone(t *testing.T) {
	who := auth.Identity{Principal: "replica/q1", Method: auth.ByCertificate}
	srv := serve(t, guarded().backend(), func(c *api.Config) { c.Auth = proven{who, auth.GrantsOf(who, nil, nil)} })
	if a := ask(t, srv, "GET", "/v1/runs/out-shell/r/logs", ""); a.status == 401 || a.status == 403 {
		t.Errorf("output: got %d %s", a.status, a.text)
	}
	for _, o := range [][2]string{{"GET", "/v1/jobs"}, {"GET", "/v1/runs/out-shell/r"}, {"GET", "/v1/events"}, {"POST", "/v1/runs/out-shell/r/retry"}} {
		if a := ask(t, srv, o[0], o[1], ""); a.status != 403 && a.status != 404 {
			t.Errorf("%v: got %d", o, a.status)
		}
	}
}
