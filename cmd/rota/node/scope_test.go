package node

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

// TestNamesOutOfScopeAreAbsent reads every path of a replica with a role for some jobs. No answer may name another job. The
// paths of the API come from its document, so a new operation is tested too.
func TestNamesOutOfScopeAreAbsent(t *testing.T) {
	t.Parallel()
	set := settings(t, "q1")
	path := filepath.Join(t.TempDir(), "auth.yaml")
	tokens := map[string]string{}
	text := "tokens:\n"
	for principal, jobs := range map[string]string{"all": "[]", "some": `["in-*"]`} {
		s := newSecret(t)
		tokens[principal] = s.Text()
		text += fmt.Sprintf("  - {id: %s, sha256: %s, principal: %s, role: %s, jobs: %s}\n", s.ID, s.Hash(), principal,
			map[string]auth.Role{"all": auth.Administrator, "some": auth.AuthorCommand}[principal], jobs)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, ", jobs: []", "")), 0o600); err != nil {
		t.Fatal(err)
	}
	set.Auth = config.Auth{Mode: config.AuthRequired, File: path}
	begin(t, Config{Settings: set, Version: version})

	ask := func(method, path, body, token string) (int, string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, method, "http://"+set.HTTP.Listen+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
			return resp.StatusCode, streamed(resp.Body)
		}
		answer, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Errorf("%s %s: %v", method, path, err)
		}
		return resp.StatusCode, string(answer)
	}
	do := func(method, path, body string) {
		t.Helper()
		eventually(t, method+" "+path+" is accepted", func() bool {
			status, _ := ask(method, path, body, tokens["all"])
			return status < 300
		})
	}

	// Each kind of record and of trouble exists inside and outside of the scope.
	do("PUT", "/v1/limits/db", `{"concurrent":1}`)
	for _, scope := range []string{"in", "out"} {
		for name, spec := range map[string]string{
			"fails": `{"every":"1h","shell":"exit 3","labels":{"team":"` + scope + `"}}`,
			"holds": `{"shell":"sleep 600","limits":["db"]}`,
			"asks":  `{"shell":"true","approve":{}}`,
			"first": `{"every":"1h","shell":"true"}`,
			"alien": `{"every":"1h","shell":"true","workers":{"zone":"absent"}}`,
			"daily": `{"schedule":"0 9 * * *","shell":"true","calendar":{"on":"` + scope + `-days","weekdays":["mon-fri"]}}`,
		} {
			do("PUT", "/v1/jobs/"+scope+"-"+name, spec)
		}
		do("PUT", "/v1/jobs/"+scope+"-second", `{"shell":"true","after":["`+scope+`-first"]}`)
		for _, name := range []string{"fails", "holds", "asks", "first", "alien"} {
			do("POST", "/v1/jobs/"+scope+"-"+name+"/runs", `{"key":"k"}`)
		}
		do("POST", "/v1/jobs/"+scope+"-second/pause", `{"reason":"holiday"}`)
	}
	do("PUT", "/v1/jobs/in-root", `{"shell":"true"}`)
	do("PUT", "/v1/jobs/out-child", `{"shell":"true","after":["in-root"]}`)
	do("PUT", "/v1/jobs/out-hooked", `{"shell":"true","hooks":{"release":{"secret":"${env:ROTA_SECRET_HOOK}"}}}`)
	do("PUT", "/v1/jobs/in-filled", `{"every":"1h","shell":"true"}`)
	do("PUT", "/v1/jobs/out-filled", `{"shell":"true","after":["in-filled"]}`)
	do("POST", "/v1/jobs/in-filled/backfill", `{"from":"2026-01-01T00:00:00Z","to":"2026-01-01T01:00:00Z"}`)
	var run struct {
		Runs []struct{ ID, State string }
	}
	for _, scope := range []string{"out", "in"} { // the last one is read below
		eventually(t, "the run of "+scope+"-fails has failed", func() bool {
			_, text := ask("GET", "/v1/runs?state=failed&job="+scope+"-fails", "", tokens["all"])
			return json.Unmarshal([]byte(text), &run) == nil && len(run.Runs) > 0
		})
	}

	paths := []string{
		"/metrics", "/leader", "/readyz?verbose", "/livez?verbose", "/healthz?verbose", "/version", "/clock", "/nowhere/out",
		"/", "/jobs", "/jobs/{job}", "/runs", "/runs/{job}/{slot}", "/jobs/{job}/workflow", "/workers", "/limits", "/cluster",
		"/timeline", "/timeline/week", "/events", "/audit", "/api", "/jobs?search=out", "/jobs/in-fail", "/jobs/ou", "/v1/jobs/ou",
		"/calendars", "/tokens", "/jobs?selector=team%3Dout", "/runs?selector=team%3Dout", "/do/run?job={job}", "/do/backfill?job={job}",
		"/do/apply", "/do/import", "/do/verify", "/do/doctor",
	}
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	_, text = ask("GET", "/v1/openapi.json", "", tokens["all"])
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	query := "?after=1&since=24h&at=2026-01-01T00:00:00Z&month=2026-01&from=" + time.Now().Add(-time.Hour).UTC().Format(time.RFC3339) +
		"&until=" + time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	for path, methods := range doc.Paths {
		if methods["get"] != nil {
			paths = append(paths, path, path+query)
		}
	}
	for path, want := range map[string]string{"/": "Only a role for all jobs sees", "/jobs": `href="/do/new"`, "/do/new": "Definition", "/do/apply": "Job file", "/do/import": "Translate", "/runs": `id="bulk"`} {
		if status, text := ask("GET", path, "", tokens["some"]); status != 200 || !strings.Contains(text, want) {
			t.Errorf("GET %s: status %d, and an author of some jobs lacks %s", path, status, want)
		}
	}
	named := 0
	for _, path := range paths {
		names := []string{"in-fails", "in-second", "in-holds"}
		if !strings.Contains(path, "{job}") {
			names = names[:1]
		}
		for _, name := range names {
			path := strings.NewReplacer("{job}", name, "{slot}", run.Runs[0].ID).Replace(path)
			if status, text := ask("GET", path, "", tokens["some"]); leak(text) != "" {
				t.Errorf("GET %s: status %d names a job out of scope: %s", path, status, leak(text))
			}
			if _, text := ask("GET", path, "", tokens["all"]); leak(text) != "" {
				named++
			}
		}
	}
	if named < 15 {
		t.Errorf("%d answers name these jobs to an administrator, so the test sees little", named)
	}

	// Refusals of changes name no other job either. A job with outputs of a parent must not be put behind a job out of scope.
	do("PUT", "/v1/jobs/in-last", `{"shell":"true","after":["out-child"]}`)
	for _, o := range []struct{ method, path, body, says string }{
		{"DELETE", "/v1/jobs/in-root", "", "named by a job that your role does not cover"},
		{"PUT", "/v1/jobs/in-root", `{"shell":"true","after":["in-last"]}`, "the job does not fit into its workflow"},
		{"PUT", "/v1/jobs/in-new", `{"shell":"true","hooks":{"release":{"secret":"${env:ROTA_SECRET_HOOK}"}}}`,
			"a job that your role does not cover has a hook of this name"},
		{"POST", "/v1/jobs/in-root/runs", `{"workflow":true}`, "steps that your role does not cover"},
		{"POST", "/v1/jobs/in-root/backfill", `{"from":"2026-01-01T00:00:00Z","to":"2026-01-02T00:00:00Z"}`, "steps that your role does not cover"},
	} {
		status, text := ask(o.method, o.path, o.body, tokens["some"])
		if status < 400 || !strings.Contains(text, o.says) || leak(text) != "" {
			t.Errorf("%s %s %s: got %d %s, want a refusal that says %q and names no other job", o.method, o.path, o.body, status, text, o.says)
		}
	}
	behind := func(parent string) (int, string) {
		status, text := ask("PUT", "/v1/jobs/in-new", `{"shell":"true","after":["in-first","`+parent+`"]}`, tokens["some"])
		return status, strings.ReplaceAll(text, parent, "PARENT")
	}
	status, text := behind("out-first")
	if absent, unknown := behind("out-no-job"); status != 422 || absent != status || text != unknown {
		t.Errorf("a parent out of scope: got %d %s, want the same as for a job that does not exist: %d %s", status, text, absent, unknown)
	}
	if status, text := ask("PUT", "/v1/jobs/in-last", `{"shell":"false","after":["out-child"]}`, tokens["some"]); status != 200 {
		t.Errorf("a parent that the job has already: got %d %s", status, text)
	}
}

// leak returns the text around a name that only jobs out of scope have; empty if there is none.
func leak(text string) string {
	for _, name := range []string{
		"out-fails", "out-holds", "out-asks", "out-first", "out-alien", "out-second", "out-child", "out-hooked", "out-daily", "out-days", "out-filled",
	} {
		if i := strings.Index(text, name); i >= 0 {
			return text[max(0, i-200):min(len(text), i+100)]
		}
	}
	return ""
}

// streamed returns what an event stream sends before it is quiet for a moment.
func streamed(body io.ReadCloser) string {
	quiet := time.AfterFunc(2*time.Second, func() { _ = body.Close() })
	defer quiet.Stop()
	var text strings.Builder
	for lines := bufio.NewScanner(body); lines.Scan(); {
		text.WriteString(lines.Text() + "\n")
	}
	return text.String()
}
