package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
)

// send sends a request for an examination. The answer has status 0 if ctx ends first.
func send(ctx context.Context, srv *httptest.Server) <-chan int {
	status := make(chan int, 1)
	go func() {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL+"/v1/verify", http.NoBody)
		if err != nil {
			panic(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			status <- 0
			return
		}
		_ = res.Body.Close()
		status <- res.StatusCode
	}()
	return status
}

// An examination needs much memory and time. So a replica makes one at a time, and only until the client disconnects.
func TestOneExaminationAtATime(t *testing.T) {
	f := newFake()
	began, end, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	f.verify = func(ctx context.Context) (api.VerifyView, error) {
		began <- struct{}{}
		select {
		case <-end:
			return api.VerifyView{}, nil
		case <-ctx.Done():
			ended <- ctx.Err()
			return api.VerifyView{}, ctx.Err()
		}
	}
	srv := serve(t, f.backend())

	first := send(t.Context(), srv)
	<-began
	for _, path := range []string{"/v1/verify", "/v1/doctor"} {
		if a := ask(t, srv, "POST", path, ""); a.status != 429 || a.header.Get("Retry-After") == "" {
			t.Errorf("%s beside an examination: got %d, %v, want 429 with Retry-After", path, a.status, a.header)
		}
	}
	end <- struct{}{}
	if status := <-first; status != 200 {
		t.Errorf("the first examination: got %d", status)
	}

	ctx, cancel := context.WithCancel(t.Context())
	second := send(ctx, srv)
	<-began
	cancel()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("the client is gone, and the examination continues")
	}
	<-second
}

func TestAnExaminationTakesLongerThanOtherRequests(t *testing.T) {
	f := newFake()
	f.verify = func(ctx context.Context) (v api.VerifyView, err error) {
		if until, ok := ctx.Deadline(); !ok || time.Until(until) < api.ExamineTimeout-time.Minute || time.Until(until) > api.ExamineTimeout {
			t.Errorf("the deadline of an examination: got %v, %v", until, ok)
		}
		return v, ctx.Err()
	}
	srv := serve(t, f.backend(), func(c *api.Config) { c.RequestTimeout, c.WriteTimeout = time.Nanosecond, time.Nanosecond })
	if a := ask(t, srv, "POST", "/v1/verify", ""); a.status != 200 { // an ordinary answer could not be written
		t.Errorf("got %d %s", a.status, a.text)
	}
}

func TestTheTextOfAnImportIsBounded(t *testing.T) {
	srv := serve(t, newFake().backend())
	if a := ask(t, srv, "POST", "/v1/import", `{"kind":"crontab","text":"`+strings.Repeat("x", api.MaxImport+1)+`"}`); a.status != 413 {
		t.Errorf("a long text: got %d %.200s, want 413", a.status, a.text)
	}
	if a := ask(t, srv, "POST", "/v1/import", `{"kind":"at","text":"x"}`); a.status != 422 {
		t.Errorf("an unknown kind: got %d %.200s, want 422", a.status, a.text)
	}
	if a := ask(t, srv, "POST", "/v1/import", `{"kind":"crontab","text":"@daily x"}`); a.status != 200 || !strings.Contains(a.text, `"notes":[]`) {
		t.Errorf("a crontab: got %d %s", a.status, a.text)
	}
}
