package node

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/config"
)

// A browser that signed in at one replica is known to the others and to the workers, until it signs out.
func TestASessionOfABrowser(t *testing.T) {
	t.Parallel()
	s := newSecret(t)
	path := filepath.Join(t.TempDir(), "auth.yaml")
	entry := "tokens:\n  - {id: " + s.ID + ", sha256: " + s.Hash() + ", principal: bob, role: author-command}\n"
	if err := os.WriteFile(path, []byte(entry), 0o600); err != nil {
		t.Fatal(err)
	}
	first := settings(t, "q1")
	first.Worker.Enabled = false
	second := outside(t, "q2", first.Etcd.Embedded.Client)
	second.Worker.Enabled = false
	worker := outside(t, "w1", first.Etcd.Embedded.Client)
	for _, set := range []*config.Settings{&first, &second, &worker} {
		set.Auth = config.Auth{Mode: config.AuthRequired, File: path}
	}
	begin(t, Config{Settings: first, Version: version})
	begin(t, Config{Settings: second, Version: version})
	begin(t, Config{Role: WorkerOnly, Settings: worker, Version: version})

	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	post := func(set config.Settings, path string, form url.Values) int {
		t.Helper()
		res, err := browser.PostForm("http://"+set.HTTP.Listen+path, form)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	get := func(set config.Settings, path string) (int, string) {
		t.Helper()
		res, err := browser.Get("http://" + set.HTTP.Listen + path)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		return res.StatusCode, text(t, res.Body)
	}
	if status := post(first, "/login", url.Values{"token": {s.Text()}}); status != http.StatusSeeOther {
		t.Fatalf("login: got %d", status)
	}
	for _, set := range []config.Settings{first, second} {
		if status, answer := get(set, "/v1/jobs"); status != 200 {
			t.Errorf("%s: got %d %s", set.Node.Name, status, answer)
		}
	}
	ask := func(method, path, body string) {
		t.Helper()
		req, _ := http.NewRequestWithContext(t.Context(), method, "http://"+second.HTTP.Listen+path, strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		res, err := browser.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusCreated {
			t.Fatalf("%s %s: got %d %s", method, path, res.StatusCode, text(t, res.Body))
		}
	}
	ask("PUT", "/v1/jobs/talk", `{"shell":"echo from the worker"}`)
	ask("POST", "/v1/jobs/talk/runs", `{"key":"k"}`)
	eventually(t, "a replica forwards the session to the worker with the output", func() bool {
		_, runs := get(first, "/v1/runs?job=talk")
		id := idOf(runs)
		status, out := get(first, "/v1/runs/talk/"+id+"/logs")
		return status == 200 && out == "from the worker\n"
	})
	if status := post(second, "/logout", nil); status != http.StatusSeeOther {
		t.Errorf("logout: got %d", status)
	}
	eventually(t, "the session has ended everywhere", func() bool {
		a, _ := get(first, "/v1/jobs")
		b, _ := get(second, "/v1/jobs")
		return a == 401 && b == 401
	})
}

func text(t *testing.T, r io.Reader) string {
	t.Helper()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// idOf returns the id of the first run in an answer of the API.
func idOf(answer string) string {
	_, id, _ := strings.Cut(answer, `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	return id
}
