package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// frames opens an event stream and returns next, which reads one frame. next returns the lines of the frame,
// joined by |. Of the data it keeps only the kind and the name of the event.
func frames(t *testing.T, srv *httptest.Server, query string, headers ...string) (next func() string, hangUp func()) {
	t.Helper()
	res, hangUp := open(t, srv.URL+"/v1/events"+query, headers...)
	if got := res.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatalf("content type: got %q (%s)", got, res.Status)
	}
	lines := bufio.NewReader(res.Body)
	return func() string {
		t.Helper()
		var frame []string
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return "end"
			}
			line = strings.TrimSuffix(line, "\n")
			if line == "" {
				return strings.Join(frame, "|")
			}
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				var e api.Event
				if err := json.Unmarshal([]byte(data), &e); err != nil {
					t.Fatalf("data is no event: %v: %s", err, data)
				}
				line = e.Name
				if e.Deleted {
					line += " deleted"
				}
			}
			frame = append(frame, line)
		}
	}, hangUp
}

func expect(t *testing.T, next func() string, want ...string) {
	t.Helper()
	for _, w := range want {
		if diff := cmp.Diff(w, next()); diff != "" {
			t.Fatalf("frame (-want +got):\n%s", diff)
		}
	}
}

func TestEvents(t *testing.T) {
	t.Run("begin now and tell of what changes", func(t *testing.T) {
		f := newFake()
		srv := serve(t, f.backend())
		next, _ := frames(t, srv, "")
		expect(t, next, "retry: 1000|id: 102")
		f.change(func(f *fake) { f.putRun(job.Run{Job: "backup", ID: "r1"}) })
		f.change(func(f *fake) { f.publish(api.Removed(api.KindJob, "report", 104)) })
		expect(t, next, "id: 103|event: run|backup/r1", "id: 104|event: job|report deleted")
	})
	t.Run("resume after the last one seen", func(t *testing.T) {
		f := newFake()
		srv := serve(t, f.backend())
		f.change(func(f *fake) { f.putRun(job.Run{Job: "backup", ID: "r1"}) })
		next, _ := frames(t, srv, "?after=999", "Last-Event-ID", "101") // the header has priority over the address
		expect(t, next, "retry: 1000|id: 101", "id: 102|event: job|report", "id: 103|event: run|backup/r1")
		next, _ = frames(t, srv, "?after=102")
		expect(t, next, "retry: 1000|id: 102", "id: 103|event: run|backup/r1")
	})
	t.Run("say so when the past is compacted or a store was restored", func(t *testing.T) {
		f := newFake()
		f.oldest = 102
		srv := serve(t, f.backend())
		for _, id := range []string{"50", "5000"} {
			next, _ := frames(t, srv, "", "Last-Event-ID", id)
			expect(t, next, "retry: 1000|id: 102|event: reset|")
		}
	})
	t.Run("give an id to a revision only when it is complete", func(t *testing.T) {
		f := newFake()
		srv := serve(t, f.backend())
		next, _ := frames(t, srv, "?after=102")
		expect(t, next, "retry: 1000|id: 102")
		f.change(func(f *fake) {
			f.publish(api.Removed(api.KindRun, "a/1", 103), api.Removed(api.KindRun, "a/2", 103))
		})
		expect(t, next, "event: run|a/1 deleted", "id: 103|event: run|a/2 deleted")
	})
	t.Run("filter by job and kind", func(t *testing.T) {
		f := newFake()
		srv := serve(t, f.backend())
		next, _ := frames(t, srv, "?job=a&kind=run")
		expect(t, next, "retry: 1000|id: 102")
		f.change(func(f *fake) {
			f.publish(api.Removed(api.KindRun, "ab/1", 103), api.Removed(api.KindJob, "a", 103))
			f.publish(api.Removed(api.KindRun, "a/1", 104), api.Removed(api.KindRun, "b/1", 104))
		})
		expect(t, next, "id: 104|event: run|a/1 deleted")
	})
	t.Run("show signs of life that carry how far it is", func(t *testing.T) {
		f := newFake()
		srv := serve(t, f.backend(), func(c *api.Config) { c.Heartbeat = 20 * time.Millisecond })
		next, _ := frames(t, srv, "?kind=run")
		expect(t, next, "retry: 1000|id: 102", ": alive|id: 102")
		f.change(func(f *fake) { f.publish(api.Removed(api.KindJob, "a", 103)) })
		until(t, "a heartbeat at 103", func() bool { return next() == ": alive|id: 103" })
	})
	t.Run("outlast an ordinary request", func(t *testing.T) {
		f := newFake()
		srv := serve(t, f.backend(), func(c *api.Config) {
			c.RequestTimeout, c.WriteTimeout, c.Heartbeat = 20*time.Millisecond, time.Second, 30*time.Millisecond
		})
		next, _ := frames(t, srv, "")
		expect(t, next, "retry: 1000|id: 102", ": alive|id: 102", ": alive|id: 102", ": alive|id: 102")
	})
	t.Run("end when the source ends", func(t *testing.T) {
		f := newFake()
		srv := serve(t, f.backend())
		next, _ := frames(t, srv, "")
		expect(t, next, "retry: 1000|id: 102")
		f.mu.Lock()
		w := f.watches[0]
		f.mu.Unlock()
		f.unwatch(w)
		expect(t, next, "end")
	})
	t.Run("leave nothing behind when the client hangs up", func(t *testing.T) {
		f := newFake()
		srv := serve(t, f.backend())
		next, hangUp := frames(t, srv, "")
		expect(t, next, "retry: 1000|id: 102")
		hangUp()
		until(t, "the end of the watch", func() bool { return f.watching() == 0 })
	})
	t.Run("refuse what is no revision or kind", func(t *testing.T) {
		srv := serve(t, newFake().backend())
		for _, query := range []string{"?after=x", "?after=-1", "?kind=ruin", "?knid=run"} {
			if a := ask(t, srv, "GET", "/v1/events"+query, ""); a.status != 422 {
				t.Errorf("%s: got %d, want 422", query, a.status)
			}
		}
	})
}

func TestSlowClientIsDisconnected(t *testing.T) {
	f := newFake()
	srv := serve(t, f.backend(), func(c *api.Config) { c.WriteTimeout = 50 * time.Millisecond })
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	until(t, "the watch", func() bool { return f.watching() == 1 })
	big := job.Run{Job: "backup", ID: "r", Output: strings.Repeat("x", 64<<10)}
	for range 300 { // 19 MiB, more than the buffer of any socket
		f.change(func(f *fake) { f.putRun(big) })
	}
	until(t, "the end of the watch", func() bool { return f.watching() == 0 })
}

// tail is the output of a running attempt.
type tail struct {
	*io.PipeReader
}

func TestLogs(t *testing.T) {
	f := newFake()
	f.putRun(job.Run{Job: "backup", ID: "r1", State: job.Running})
	f.output["backup/r1"] = func(context.Context, bool) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("one\ntwo\n<script>")), nil
	}
	srv := serve(t, f.backend())

	a := ask(t, srv, "GET", "/v1/runs/backup/r1/logs?attempt=1", "")
	if a.status != 200 || a.text != "one\ntwo\n<script>" || a.header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("got %d %q %q, want the output as plain text", a.status, a.text, a.header.Get("Content-Type"))
	}
	f.change(func(f *fake) { delete(f.output, "backup/r1") })
	if a := ask(t, srv, "GET", "/v1/runs/backup/r1/logs", ""); a.status != 404 || !strings.Contains(a.problem(t).Detail, "is gone") {
		t.Errorf("output that is gone: got %d %s, want 404 saying so", a.status, a.text)
	}
	if a := ask(t, srv, "GET", "/v1/runs/bakup/r1/logs", ""); a.status != 404 || !strings.Contains(a.text, "did you mean") {
		t.Errorf("output of no job: got %d %s, want a suggestion", a.status, a.text)
	}
	if a := ask(t, srv, "GET", "/v1/runs/backup/r1/logs?attempt=-1", ""); a.status != 422 {
		t.Errorf("attempt -1: got %d, want 422", a.status)
	}
}

// TestAStreamAnswersHead asks for the headers of streams without an end, and then for something else on the same connection.
func TestAStreamAnswersHead(t *testing.T) {
	f := newFake()
	r, _ := io.Pipe()
	f.output["backup/r1"] = func(context.Context, bool) (io.ReadCloser, error) { return tail{r}, nil }
	srv := serve(t, f.backend())
	one := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	defer one.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	connections := 0
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
		if !c.Reused {
			connections++
		}
	}})
	for _, path := range []string{"/v1/events", "/v1/runs/backup/r1/logs?follow=true"} {
		for _, request := range [][2]string{{http.MethodHead, path}, {http.MethodGet, "/livez"}} {
			req, err := http.NewRequestWithContext(ctx, request[0], srv.URL+request[1], nil)
			if err != nil {
				t.Fatal(err)
			}
			res, err := one.Do(req)
			if err != nil {
				t.Fatalf("%s %s: %v", request[0], request[1], err)
			}
			if _, err := io.Copy(io.Discard, res.Body); err != nil {
				t.Errorf("%s %s: %v", request[0], request[1], err)
			}
			res.Body.Close()
			if res.StatusCode != http.StatusOK {
				t.Errorf("%s %s: got %s", request[0], request[1], res.Status)
			}
		}
	}
	if connections != 1 {
		t.Errorf("got %d connections, want one", connections)
	}
}

func TestFollowedLogs(t *testing.T) {
	f := newFake()
	r, w := io.Pipe()
	f.output["backup/r1"] = func(context.Context, bool) (io.ReadCloser, error) { return tail{r}, nil }
	srv := serve(t, f.backend(), func(c *api.Config) { c.RequestTimeout = 20 * time.Millisecond })
	logs := srv.URL + "/v1/runs/backup/r1/logs?follow=true"

	t.Run("arrive as they are written", func(t *testing.T) {
		res, _ := open(t, logs)
		defer res.Body.Close()
		buf := make([]byte, 10)
		for _, line := range []string{"one\n", "two\n"} {
			if _, err := io.WriteString(w, line); err != nil {
				t.Fatal(err)
			}
			n, err := res.Body.Read(buf)
			if err != nil || string(buf[:n]) != line {
				t.Fatalf("got %q %v, want %q", buf[:n], err, line)
			}
		}
		w.Close()
		if rest, err := io.ReadAll(res.Body); err != nil || len(rest) != 0 {
			t.Errorf("end: got %q %v, want a proper end", rest, err)
		}
	})
	t.Run("that break off have no proper end", func(t *testing.T) {
		r, w = io.Pipe()
		res, _ := open(t, logs)
		defer res.Body.Close()
		w.CloseWithError(errors.New("the worker is gone"))
		if _, err := io.ReadAll(res.Body); err == nil {
			t.Error("got a proper end")
		}
	})
	t.Run("are closed when the client hangs up", func(t *testing.T) {
		r, w = io.Pipe()
		_, hangUp := open(t, logs)
		hangUp()
		until(t, "a closed pipe", func() bool { _, err := io.WriteString(w, "x"); return errors.Is(err, io.ErrClosedPipe) })
	})
}
