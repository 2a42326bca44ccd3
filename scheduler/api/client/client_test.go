package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func dial(t *testing.T, cfg client.Config) *client.Client {
	t.Helper()
	c, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// server answers every request with h and counts them, except for the probes of clients.
func server(t *testing.T, h http.HandlerFunc) (url string, count *atomic.Int64) {
	t.Helper()
	count = new(atomic.Int64)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/livez" {
			return
		}
		count.Add(1)
		h(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv.URL, count
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func refuse(status int, detail string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.Header().Set("Retry-After", "2")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"title":"x","status":%d,"detail":%q,"errors":[{"location":"body.a","message":"no"}]}`, status, detail)
	}
}

// nobody returns an address at which no process listens.
func nobody(t *testing.T) string {
	t.Helper()
	srv := httptest.NewServer(nil)
	srv.Close()
	return srv.URL
}

func TestServers(t *testing.T) {
	for in, want := range map[string]string{
		"":                              client.DefaultServer,
		"q1:8470":                       "http://q1:8470",
		"https://q1/rota/, http://q2 ,": "https://q1/rota http://q2",
	} {
		c, err := client.New(client.Config{Servers: in})
		if err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		if got := strings.Join(c.Servers(), " "); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
	for _, in := range []string{"ftp://q1", "http://", ",", "http://[::1"} {
		if _, err := client.New(client.Config{Servers: in}); err == nil {
			t.Errorf("%q is accepted", in)
		}
	}
}

func TestNoServerAnswers(t *testing.T) {
	where := nobody(t)
	c := dial(t, client.Config{Servers: where})
	_, err := c.Jobs(t.Context())
	want := "no rota answers at " + where + ": connection refused"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if !errors.Is(err, api.ErrUnavailable) {
		t.Error("the error is not ErrUnavailable")
	}
	if _, _, err := c.Ready(t.Context()); !errors.Is(err, api.ErrUnavailable) {
		t.Errorf("ready: got %v, want ErrUnavailable", err)
	}
}

func TestErrorClasses(t *testing.T) {
	classes := map[string]error{"not found": job.ErrNotFound, "conflict": job.ErrConflict, "too large": job.ErrTooLarge,
		"full": job.ErrFull, "unavailable": api.ErrUnavailable}
	for status, want := range map[int]string{
		400: "", 404: "not found", 409: "conflict", 412: "conflict", 413: "too large", 422: "", 500: "", 502: "unavailable",
		503: "unavailable", 504: "unavailable", 507: "full",
	} {
		url, _ := server(t, refuse(status, "because"))
		err := dial(t, client.Config{Servers: url}).DeleteJob(t.Context(), "backup", api.Precondition{})
		var e *client.Error
		if !errors.As(err, &e) {
			t.Errorf("%d: got %v, want a *client.Error", status, err)
			continue
		}
		if e.Status != status || e.Error() != "because" || e.RetryAfter != 2*time.Second || len(e.Fields) != 1 || e.Server != url {
			t.Errorf("%d: got %+v", status, e)
		}
		for name, class := range classes {
			if got := errors.Is(err, class); got != (name == want) {
				t.Errorf("%d: is %s: got %t", status, name, got)
			}
		}
	}
}

func TestAnotherProgramAnswers(t *testing.T) {
	page := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(status)
			fmt.Fprint(w, "<html>hello")
		}
	}
	for _, status := range []int{200, 404, 302} {
		url, _ := server(t, page(status))
		_, err := dial(t, client.Config{Servers: url}).Jobs(t.Context())
		var e *client.Error
		if !errors.As(err, &e) || !e.Foreign || e.Status != status || !strings.Contains(err.Error(), "address") {
			t.Errorf("%d: got %v, want doubt about the address", status, err)
		}
		if errors.Is(err, job.ErrNotFound) {
			t.Errorf("%d: what is not there is a page, and no job", status)
		}
	}
	t.Run("with JSON of its own", func(t *testing.T) {
		for body, ask := range map[string]func(*client.Client) error{
			`{}`:            func(c *client.Client) error { _, err := c.Job(t.Context(), "a"); return err },
			`{"name":"a"}`:  func(c *client.Client) error { _, err := c.PauseJob(t.Context(), "a", ""); return err },
			`{"jobs":[{}]}`: func(c *client.Client) error { _, err := c.Jobs(t.Context()); return err },
			`{"state":"x"}`: func(c *client.Client) error { _, err := c.Run(t.Context(), "a/b"); return err },
		} {
			url, _ := server(t, func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, json.RawMessage(body)) })
			var e *client.Error
			if err := ask(dial(t, client.Config{Servers: url})); !errors.As(err, &e) || !e.Foreign || e.Status != 200 || e.Server != url {
				t.Errorf("%s: got %v, want a foreign answer of %s", body, err, url)
			}
		}
	})
}

func TestTimeout(t *testing.T) {
	hangs := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	url, _ := server(t, hangs)
	c := dial(t, client.Config{Servers: url, Timeout: 30 * time.Millisecond})
	if _, err := c.Jobs(t.Context()); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, api.ErrUnavailable) {
		t.Errorf("got %v, want a deadline and ErrUnavailable", err)
	}
	url, _ = server(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = http.NewResponseController(w).Flush()
		hangs(w, r)
	})
	c = dial(t, client.Config{Servers: url, Timeout: 30 * time.Millisecond})
	if _, err := c.Jobs(t.Context()); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, api.ErrUnavailable) {
		t.Errorf("in the middle of the answer: got %v, want a deadline and ErrUnavailable", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Jobs(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: got %v, want context.Canceled", err)
	}
}

func TestRequestHeaders(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var got http.Header
	url, _ := server(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		answer(w, 200, map[string]any{"run": "backup/b"})
	})
	c := dial(t, client.Config{Servers: url, TokenFile: file, By: "alice", Agent: "rota/1"})
	if _, _, err := c.Submit(t.Context(), "backup", api.RunRequest{Key: `a"b`}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"Authorization": "Bearer s3cret", api.ByHeader: "alice", "User-Agent": "rota/1", "Content-Type": "application/json",
		"Idempotency-Key": `"a\"b"`,
	} {
		if got.Get(name) != want {
			t.Errorf("%s: got %q, want %q", name, got.Get(name), want)
		}
	}
	c = dial(t, client.Config{Servers: url, TokenFile: file + ".gone"})
	if _, err := c.Jobs(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a token file that is not there: got %v", err)
	}
}

func TestAnOldAnswerIsReported(t *testing.T) {
	url, _ := server(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(api.AgeHeader, "14")
		answer(w, http.StatusOK, api.JobList{})
	})
	var got time.Duration
	c := dial(t, client.Config{Servers: url, Stale: func(_ string, age time.Duration) { got = age }})
	if _, err := c.Jobs(t.Context()); err != nil || got != 14*time.Second {
		t.Errorf("got %v, %v", got, err)
	}
}
