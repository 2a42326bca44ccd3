package cluster

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
)

// Sink is the target of HTTP jobs. It records every request.
type Sink struct {
	server *httptest.Server
	delay  atomic.Int64
	status atomic.Int64
	choose atomic.Pointer[func(history.Effect) (time.Duration, int)]

	mu       sync.Mutex
	requests []history.Effect // guarded by mu
}

// NewSink starts a sink that answers 204 at once.
func NewSink(t testing.TB) *Sink {
	s := &Sink{}
	s.status.Store(http.StatusNoContent)
	s.server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		s.server.CloseClientConnections()
		s.server.Close()
	})
	return s
}

// URL returns the address of the sink.
func (s *Sink) URL() string { return s.server.URL }

// Posts returns n jobs with the spec that send a request to the sink in each slot: every second, unless the spec has a period.
func (s *Sink) Posts(n int, spec job.Spec) map[string]job.Spec {
	spec.Every = cmp.Or(spec.Every, job.Duration(time.Second))
	spec.Missed, spec.HTTP = job.MissedAll, &job.HTTP{URL: s.URL(), Method: http.MethodPost}
	jobs := make(map[string]job.Spec)
	for i := range n {
		jobs[fmt.Sprintf("post-%d", i)] = spec
	}
	return jobs
}

// Delay sets the time until the answer to each later request.
func (s *Sink) Delay(d time.Duration) { s.delay.Store(int64(d)) }

// Answer sets the status of the answer to each later request.
func (s *Sink) Answer(status int) { s.status.Store(int64(status)) }

// AnswerBy sets a function that chooses the delay and the status for each later request.
func (s *Sink) AnswerBy(choose func(history.Effect) (delay time.Duration, status int)) {
	s.choose.Store(&choose)
}

// Requests returns the requests so far in the order of arrival.
func (s *Sink) Requests() []history.Effect {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]history.Effect(nil), s.requests...)
}

func (s *Sink) serve(w http.ResponseWriter, r *http.Request) {
	i, e := s.arrived(r)
	_, _ = io.Copy(io.Discard, r.Body) // the headers have everything
	d, status := time.Duration(s.delay.Load()), int(s.status.Load())
	if choose := s.choose.Load(); choose != nil {
		d, status = (*choose)(e)
	}
	if d > 0 {
		select {
		case <-time.After(d):
		case <-r.Context().Done(): // the client has gone: the request has no end
			return
		}
	}
	// Set the end before the answer, because the worker may report the outcome before this handler returns.
	s.mu.Lock()
	s.requests[i].Ended, s.requests[i].Well = time.Now(), status/100 == 2
	s.mu.Unlock()
	w.WriteHeader(status)
}

func (s *Sink) arrived(r *http.Request) (int, history.Effect) {
	attempt, _ := strconv.Atoi(r.Header.Get("Rota-Attempt")) // 0 is no attempt, and the judge reports it
	token, _ := strconv.ParseInt(r.Header.Get("Rota-Fencing-Token"), 10, 64)
	e := history.Effect{
		Job: r.Header.Get("Rota-Job"), Run: r.Header.Get("Rota-Run"), Attempt: attempt, Token: token,
		Key: strings.Trim(r.Header.Get("Idempotency-Key"), `"`),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e.Arrived = time.Now()
	s.requests = append(s.requests, e)
	return len(s.requests) - 1, e
}
