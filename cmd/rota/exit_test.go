package main

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/cmd/rota/internal/failure"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/schedule"
)

func TestExitCodes(t *testing.T) {
	interrupt, cancel := context.WithCancelCause(context.Background())
	cancel(interrupted{syscall.SIGINT})
	_, refusedExpr := schedule.Parse(schedule.Spec{Cron: []string{"61 * * * *"}})
	for name, tc := range map[string]struct {
		err  error
		want int
	}{
		"nothing":             {nil, 0},
		"anything":            {io.ErrUnexpectedEOF, 1},
		"usage":               {fmt.Errorf("flag: %w", usagef("no")), 2},
		"not found":           {&client.Error{Status: 404}, 3},
		"conflict":            {&client.Error{Status: 409}, 4},
		"precondition failed": {fmt.Errorf("apply job a: %w", &client.Error{Status: 412}), 4},
		"key of another run":  {&client.Error{Status: 422}, 4},
		"bad field":           {&client.Error{Status: 422, Fields: []client.Field{{Location: "body.in"}}}, 2},
		"another program":     {&client.Error{Status: 404, Foreign: true}, 5},
		"forbidden":           {&client.Error{Status: 403}, 1},
		"unavailable":         {&client.Error{Status: 503}, 5},
		"store full":          {&client.Error{Status: 507}, 5},
		"no answer":           {&client.Unreachable{Err: io.EOF}, 5},
		"bad job file":        {config.Errors{{File: "a.yaml", Msg: "is empty"}}, 78},
		"bad settings":        {fmt.Errorf("serve: %w", &failure.ConfigError{Err: errors.New("no such file")}), 78},
		"bad expression":      {refusedExpr, 78},
		"the job's own":       {&codedError{code: 75, err: errors.New("run failed")}, 75},
		"reader has gone":     {&outputError{&os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE}}, 141},
		"connection broke":    {&client.Unreachable{Err: &net.OpError{Op: "write", Err: os.NewSyscallError("write", syscall.EPIPE)}}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			if got := exitCode(context.Background(), tc.err); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
	if got := exitCode(interrupt, errors.New("cut short")); got != 130 {
		t.Errorf("interrupted: got %d, want 130", got)
	}
	if got := exitCode(interrupt, nil); got != 0 {
		t.Errorf("interrupted, and ended well: got %d, want 0", got)
	}
}

// startCluster starts a cluster in memory and returns the URL of its server.
func startCluster(t *testing.T) (server string) {
	s := httptest.NewServer(api.New(api.DefaultConfig(), newFakeCluster().backend(), hclog.NewNullLogger()).Handler())
	t.Cleanup(s.Close)
	return s.URL
}

func TestAnotherProgramAtTheAddressIsUnavailable(t *testing.T) {
	for kind, body := range map[string]string{"application/json": "{}", "text/html": "<html>hello"} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, body)
		}))
		t.Cleanup(s.Close)
		for _, args := range [][]string{{"job", "x"}, {"next", "x"}, {"explain", "x", "now"}, {"run", "x"}, {"pause", "x"}, {"token", "revoke", "x"}} {
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), append(args, "--server", s.URL), strings.NewReader(""), &stdout, &stderr)
			if code != exitUnavailable || !strings.Contains(stderr.String(), "is it the right address?") || stdout.Len() > 0 {
				t.Errorf("%s, %v: got exit code %d, %s%s", kind, args, code, &stdout, &stderr)
			}
		}
	}
}

// A wait whose time is over before a replica answered knows no state of the run.
func TestAWaitWithoutAnAnswer(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(waitedError{time.Second})
	if got, want := unfinished(ctx, "a/b", &job.Run{}).Error(), "run a/b is in an unknown state after 1s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// onWrite is a writer that calls the function with each written text.
type onWrite func(text string) error

func (f onWrite) Write(b []byte) (int, error) { return len(b), f(string(b)) }

func TestInterruptedWaitSaysThatTheRunContinues(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	var stderr bytes.Buffer
	stdout := onWrite(func(string) error {
		cancel(interrupted{syscall.SIGINT})
		return nil
	})
	got := run(ctx, []string{"run", "hangs", "--wait", "--server", startCluster(t)}, strings.NewReader(""), stdout, &stderr)
	if got != 130 {
		t.Errorf("got exit code %d, want 130", got)
	}
	if text := stderr.String(); !strings.Contains(text, "rota: interrupted\n") || !strings.Contains(text, "continues") {
		t.Errorf("got on stderr:\n%s\nwant that it was interrupted and that the run continues", text)
	}
}

func TestABrokenAnswerDoesNotEndTheWait(t *testing.T) {
	waitThrough(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"job":"o`)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
}

// The refusal says that this client asks too often, and nothing about the run. Exit code 1 would mean that the job has failed.
func TestTooManyRequestsDoNotEndTheWait(t *testing.T) {
	waitThrough(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"status": 429, "detail": "too many requests"}`)
	})
}

// waitThrough waits for the end of a run while the second answer to a read is trouble.
func waitThrough(t *testing.T, trouble http.HandlerFunc) {
	t.Helper()
	whole := api.New(api.DefaultConfig(), newFakeCluster().backend(), hclog.NewNullLogger()).Handler()
	var reads atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && reads.Add(1) == 2 {
			trouble(w, r)
			return
		}
		whole.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	var stderr bytes.Buffer
	if got := run(t.Context(), []string{"run", "ok", "--wait", "--server", s.URL}, strings.NewReader(""), io.Discard, &stderr); got != exitOK {
		t.Errorf("got exit code %d, want 0:\n%s", got, &stderr)
	}
	if reads.Load() < 3 {
		t.Errorf("the run was read %d times: nobody met the trouble", reads.Load())
	}
}

func TestAStreamThatBreaksBeforeItsFirstByteIsResumed(t *testing.T) {
	whole := api.New(api.DefaultConfig(), newFakeCluster().backend(), hclog.NewNullLogger()).Handler()
	var streams atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/logs") && streams.Add(1) == 1 {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		whole.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	var stdout, stderr bytes.Buffer
	if got := run(t.Context(), []string{"run", "ok", "--logs", "--server", s.URL}, strings.NewReader(""), &stdout, &stderr); got != exitOK {
		t.Errorf("got exit code %d, want 0:\n%s", got, &stderr)
	}
	if streams.Load() != 2 || stdout.String() != "ok says hello in attempt 1\n" {
		t.Errorf("got after %d streams %q, want the output of the job after two:\n%s", streams.Load(), &stdout, &stderr)
	}
}

func TestBrokenPipeIsSilent(t *testing.T) {
	for _, args := range [][]string{
		{"jobs"}, {"runs"}, {"config", "schema"}, {"next", "@daily", "-o", "json"},
		{"run", "ok", "--logs"}, {"logs", "ok/2026-01-31T01:30:00Z"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			var stderr bytes.Buffer
			stdout := onWrite(func(string) error { return syscall.EPIPE })
			got := run(context.Background(), append(args, "--server", startCluster(t)), strings.NewReader(""), stdout, &stderr)
			if got != 141 {
				t.Errorf("got exit code %d, want 141", got)
			}
			if strings.Contains(stderr.String(), "pipe") {
				t.Errorf("got on stderr:\n%s\nwant nothing about the pipe", &stderr)
			}
		})
	}
}

func TestASilentServerFailsWithinFiveSeconds(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts connections, but no process answers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	var stdout, stderr bytes.Buffer
	began := time.Now()
	got := run(context.Background(), []string{"jobs", "--server", "http://" + silent.Addr().String()}, strings.NewReader(""), &stdout, &stderr)
	if elapsed := time.Since(began); got != 5 || elapsed > 5*time.Second {
		t.Errorf("got exit code %d after %v, want 5 within 5s", got, elapsed)
	}
}

func TestRefusalIsOneMessageAndOneHint(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"usage":            {usagef("--limit -1: no"), "rota: --limit -1: no\nhint: run `rota runs --help`\n"},
		"one reason":       {&schedule.Error{Field: "jitter", Expr: "-1s", Msg: "is negative", Hint: "leave it out"}, "rota: jitter \"-1s\": is negative\nhint: leave it out\n"},
		"retry later":      {&client.Error{Status: 503, Detail: "not ready", RetryAfter: 2 * time.Second}, "rota: not ready\nhint: try again in 2s; `rota status` says what is wrong\n"},
		"several lines":    {errors.New("one\ntwo"), "rota: one\n      two\n"},
		"connection broke": {&client.Unreachable{Servers: []string{"https://q1:8470"}, Err: &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", syscall.EPIPE)}}, "rota: no rota answers at https://q1:8470: write tcp: write: broken pipe\nhint: if it wants a certificate, name yours with --cert and --cert-key; its log has the reason\n"},
		"other name":       {&client.Unreachable{Servers: []string{"https://10.0.0.1:8470"}, Err: x509.HostnameError{Certificate: &x509.Certificate{DNSNames: []string{"q1"}}, Host: "q1.internal"}}, "rota: no rota answers at https://10.0.0.1:8470: x509: certificate is valid for q1, not q1.internal\nhint: name it as its certificate does, or issue a certificate for this name: `rota pki issue --host`\n"},
		"no TLS there": {&client.Unreachable{Servers: []string{"https://q1:8470"}, Err: http.ErrSchemeMismatch},
			"rota: no rota answers at https://q1:8470: http: server gave HTTP response to HTTPS client\nhint: it has no TLS: name it with http://\n"},
		"mistakes in file": {config.Errors{{File: "a.yaml", Line: 1, Col: 2, Msg: "bad"}}, "a.yaml:1:2: bad\nrota: 1 mistake found\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var stderr bytes.Buffer
			c := &cli{err: &stderr}
			c.report(tc.err, "rota runs")
			if got := stderr.String(); got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}

func TestTheStatusDoesNotLeadToItself(t *testing.T) {
	var stderr strings.Builder
	(&cli{err: &stderr}).report(&client.Error{Status: 503, Detail: "not ready", RetryAfter: 2 * time.Second}, "rota status")
	if got, want := stderr.String(), "rota: not ready\nhint: try again in 2s; `rota health --ready` says what is wrong\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTheSuccessOfARunWithoutAttempts(t *testing.T) {
	var stderr strings.Builder
	v := api.NewRunView(job.Run{Job: "a", ID: "b", State: job.Succeeded, Finished: time.Unix(9, 0)})
	if err := (&cli{err: &stderr, now: time.Now}).outcome(t.Context(), nil, &v); err != nil {
		t.Fatal(err)
	}
	if got, want := stderr.String(), "run a/b succeeded\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOutcomeText(t *testing.T) {
	three := 3
	for _, tc := range []struct {
		run  job.Run
		want string
	}{
		{job.Run{State: job.Failed, Exit: &three, Reason: "exit code 3"}, "run a/b failed: exit code 3"},
		{job.Run{State: job.Failed, Exit: &three}, "run a/b failed (3)"},
		{job.Run{State: job.TimedOut}, "run a/b timed out"},
		{job.Run{State: job.Lost, Reason: "worker\x1b gone"}, "run a/b was lost: worker  gone"},
	} {
		tc.run.Job, tc.run.ID = "a", "b"
		v := api.NewRunView(tc.run)
		if got := outcomeText(&v); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
}

// The words of another user, such as the reason of a cancellation, must not control the terminal.
func TestAnErrorHasNoControlSequences(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"status": 404, "detail": "it never began (\u001b]0;title\u0007é)\nfor sure"}`))
	}))
	defer server.Close()
	t.Setenv("HOME", t.TempDir())
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"logs", "ok/1", "--server", server.URL}, strings.NewReader(""), &out, &errs)
	if want := "rota: it never began ( ]0;title é)\n      for sure\n"; code != exitNotFound || errs.String() != want {
		t.Errorf("got exit code %d and %q, want %q", code, errs.String(), want)
	}
}
