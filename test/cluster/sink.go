package cluster

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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

// URL is where the sink listens.
func (s *Sink) URL() string { return s.server.URL }

// Delay has every request answered after d, from now on.
func (s *Sink) Delay(d time.Duration) { s.delay.Store(int64(d)) }

// Answer has every request answered with a status, from now on.
func (s *Sink) Answer(status int) { s.status.Store(int64(status)) }

// AnswerBy has choose say after what time and with which status each request is answered, from now on.
func (s *Sink) AnswerBy(choose func(history.Effect) (delay time.Duration, status int)) {
	s.choose.Store(&choose)
}

// Requests returns what has been asked so far, in the order of arrival.
func (s *Sink) Requests() []history.Effect {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]history.Effect(nil), s.requests...)
}

func (s *Sink) serve(w http.ResponseWriter, r *http.Request) {
	i, e := s.arrived(r)
	_, _ = io.Copy(io.Discard, r.Body) // the headers say all
	d, status := time.Duration(s.delay.Load()), int(s.status.Load())
	if choose := s.choose.Load(); choose != nil {
		d, status = (*choose)(e)
	}
	if d > 0 {
		select {
		case <-time.After(d):
		case <-r.Context().Done(): // whoever asked has gone: the request never ends
			return
		}
	}
	// Before the answer, since whoever asked may tell of it before we are back.
	s.mu.Lock()
	s.requests[i].Ended, s.requests[i].Well = time.Now(), status/100 == 2
	s.mu.Unlock()
	w.WriteHeader(status)
}

func (s *Sink) arrived(r *http.Request) (int, history.Effect) {
	attempt, _ := strconv.Atoi(r.Header.Get("Rota-Attempt")) // 0 is no attempt, and will be told
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
