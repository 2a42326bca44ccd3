package httpx_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestStatus(t *testing.T) {
	var status atomic.Int64
	var after atomic.Value
	url, got := target(t, func(w http.ResponseWriter, _ *http.Request) {
		if s := after.Load().(string); s != "" {
			w.Header().Set("Retry-After", s)
		}
		if status.Load() != http.StatusNotModified {
			w.Header().Set("Location", "/elsewhere")
		}
		w.Header()["Date"] = nil // without this header, the response does not show the target's clock
		w.WriteHeader(int(status.Load()))
	})
	e := newExecutor(t)
	for _, tt := range []struct {
		status int
		after  string
		expect []int
		want   job.Outcome
	}{
		{200, "", nil, job.Outcome{State: job.Succeeded}},
		{204, "", nil, job.Outcome{State: job.Succeeded}},
		{200, "", []int{202}, job.Outcome{State: job.Failed, Reason: "status 200 OK: not one of those that the job expects"}},
		{409, "", []int{200, 409}, job.Outcome{State: job.Succeeded}},
		{302, "", []int{302}, job.Outcome{State: job.Succeeded}},
		{302, "", nil, job.Outcome{State: job.Failed, Reason: "status 302 Found: redirects are not followed"}},
		{304, "", nil, job.Outcome{State: job.Failed, Reason: "status 304 Not Modified"}},
		{307, "5", nil, job.Outcome{State: job.Failed, Reason: "status 307 Temporary Redirect: redirects are not followed", After: 5 * time.Second}},
		{400, "", nil, job.Outcome{State: job.Failed, Reason: "status 400 Bad Request"}},
		{404, "5", nil, job.Outcome{State: job.Failed, Reason: "status 404 Not Found", After: 5 * time.Second}},
		{408, "", nil, job.Outcome{State: job.Failed, Reason: "status 408 Request Timeout", Retry: true}},
		{425, "", nil, job.Outcome{State: job.Failed, Reason: "status 425 Too Early", Retry: true}},
		{429, "120", nil, job.Outcome{State: job.Failed, Reason: "status 429 Too Many Requests", Retry: true, After: 2 * time.Minute}},
		{500, "", nil, job.Outcome{State: job.Failed, Reason: "status 500 Internal Server Error", Retry: true}},
		{503, "Sat, 21 Nov 2026 02:31:00 GMT", nil, job.Outcome{State: job.Failed, Reason: "status 503 Service Unavailable", Retry: true, After: time.Minute}},
		{503, "Sat, 21 Nov 2026 02:29:00 GMT", nil, job.Outcome{State: job.Failed, Reason: "status 503 Service Unavailable", Retry: true}},
		{202, "5", nil, job.Outcome{State: job.Succeeded}},
		{503, "99999999999999999999", nil, job.Outcome{State: job.Failed, Reason: "status 503 Service Unavailable", Retry: true, After: 24 * time.Hour}},
		{503, "9223372036854775807", nil, job.Outcome{State: job.Failed, Reason: "status 503 Service Unavailable", Retry: true, After: 24 * time.Hour}},
		{503, "Sat, 21 Nov 2099 02:31:00 GMT", nil, job.Outcome{State: job.Failed, Reason: "status 503 Service Unavailable", Retry: true, After: 24 * time.Hour}},
		{503, "soon", nil, job.Outcome{State: job.Failed, Reason: "status 503 Service Unavailable", Retry: true}},
		{599, "", nil, job.Outcome{State: job.Failed, Reason: "status 599", Retry: true}},
	} {
		t.Run(fmt.Sprint(tt.status, tt.after, tt.expect), func(t *testing.T) {
			status.Store(int64(tt.status))
			after.Store(tt.after)
			before := len(got())
			o := e.Execute(t.Context(), request(job.HTTP{URL: url, Expect: tt.expect}, io.Discard))
			tt.want.At, tt.want.Exit = at, new(tt.status)
			if diff := cmp.Diff(tt.want, o); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
			if n := len(got()) - before; n != 1 {
				t.Errorf("target got %d requests, want 1", n)
			}
		})
	}
}

func TestRetryAfterDatesAreByTheTargetsClock(t *testing.T) {
	url, _ := target(t, func(w http.ResponseWriter, r *http.Request) {
		theirs := at.Add(-time.Hour) // the target's clock; the worker's clock is an hour ahead
		w.Header().Set("Date", theirs.Format(http.TimeFormat))
		w.Header().Set("Retry-After", theirs.Add(2*time.Minute).Format(http.TimeFormat))
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	if o := newExecutor(t).Execute(t.Context(), request(job.HTTP{URL: url}, io.Discard)); o.After != 2*time.Minute {
		t.Errorf("tried again after %v, want two minutes", o.After)
	}
}

func TestAFailureStatusStandsAfterATimeout(t *testing.T) {
	for _, tt := range []struct {
		status int
		want   job.Outcome
	}{
		{404, job.Outcome{State: job.Failed, At: at, Exit: new(404), Reason: "status 404 Not Found", After: 7 * time.Second}},
		{429, job.Outcome{State: job.Failed, At: at, Exit: new(429), Reason: "status 429 Too Many Requests", Retry: true, After: 7 * time.Second}},
	} {
		t.Run(fmt.Sprint(tt.status), func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			url, _ := target(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(tt.status)
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			})
			req := request(job.HTTP{URL: url}, io.Discard)
			req.Beat = func() { cancel(executor.ErrTimeout) } // the header has arrived, and the end of the response never arrives
			o := newExecutor(t).Execute(ctx, req)
			if diff := cmp.Diff(tt.want, o); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
		})
	}
}

// TestABadlyCompressedResponseIsNoFailure checks that a served request is not repeated because of a broken response.
// net/http does not close a connection that has changed its protocol when the context ends.
func TestAChangedProtocolEndsTheAttempt(t *testing.T) {
	url, _ := target(t, func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n")
		_, _ = io.Copy(io.Discard, conn) // until the worker closes the connection
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	done := make(chan job.Outcome, 1)
	go func() { done <- newExecutor(t).Execute(ctx, request(job.HTTP{URL: url}, io.Discard)) }()
	select {
	case o := <-done:
		want := job.Outcome{State: job.Failed, Reason: "status 101 Switching Protocols", At: at, Exit: new(101)}
		if diff := cmp.Diff(want, o); diff != "" {
			t.Errorf("outcome (-want +got):\n%s", diff)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the attempt does not end")
	}
}

func TestABadlyCompressedResponseIsNoFailure(t *testing.T) {
	url, _ := target(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "" {
			w.Header().Set("Content-Encoding", "gzip")
		}
		fmt.Fprint(w, "charged")
	})
	var out bytes.Buffer
	o := newExecutor(t).Execute(t.Context(), request(job.HTTP{URL: url, Method: "POST"}, &out))
	if o.State != job.Succeeded || out.String() != "charged" {
		t.Errorf("output %q, outcome %+v", out.String(), o)
	}
}

func TestLongResponseIsReadToItsEnd(t *testing.T) {
	const size = 3 << 20
	url, _ := target(t, func(w http.ResponseWriter, _ *http.Request) { io.Copy(w, io.LimitReader(zeros{}, size)) })
	var out bytes.Buffer
	o := newExecutor(t).Execute(t.Context(), request(job.HTTP{URL: url}, &out))
	if o.State != job.Succeeded || out.Len() < 1<<20 || out.Len() > 1<<20+200 {
		t.Errorf("outcome %+v, %d bytes of output", o, out.Len())
	}
}

func TestEndlessResponseIsCut(t *testing.T) {
	url, _ := target(t, func(w http.ResponseWriter, _ *http.Request) { io.Copy(w, zeros{}) })
	if o := newExecutor(t).Execute(t.Context(), request(job.HTTP{URL: url}, io.Discard)); o.State != job.Succeeded {
		t.Errorf("outcome %+v", o)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
