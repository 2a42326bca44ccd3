package httpx_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/dial"
	httpx "github.com/rota-scheduler/rota/scheduler/executor/http"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/poll"
)

// connections counts the connections of a server by their states.
type connections struct {
	mu     sync.Mutex
	counts map[http.ConnState]int
}

func (c *connections) add(_ net.Conn, s http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[s]++
}

func (c *connections) count(s http.ConnState) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[s]
}

// await fails the test unless there are soon n connections in state s.
func (c *connections) await(t *testing.T, s http.ConnState, n int) {
	t.Helper()
	poll.Until(t, fmt.Sprintf("%d connections are %s", n, s), func() bool { return c.count(s) == n })
}

// counting starts a server for scheme, and returns an executor that trusts it.
func counting(t *testing.T, scheme string) (e *httpx.Executor, srv *httptest.Server, conns *connections) {
	conns = &connections{counts: make(map[http.ConnState]int)}
	srv = httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	srv.Config.ConnState = conns.add
	cfg := httpx.Config{}
	if scheme == "https" {
		srv.StartTLS()
		cfg.TLS = srv.Client().Transport.(*http.Transport).TLSClientConfig
	} else {
		srv.Start()
	}
	t.Cleanup(srv.Close)
	e = httpx.New(cfg, func() time.Time { return at })
	t.Cleanup(e.Close)
	return e, srv, conns
}

func TestAConnectionIsOpenedAhead(t *testing.T) {
	for _, scheme := range []string{"http", "https"} {
		t.Run(scheme, func(t *testing.T) {
			e, srv, conns := counting(t, scheme)
			req := request(job.HTTP{URL: srv.URL + "/{{ .Job }}", Method: "POST", Body: "x"}, io.Discard)

			unused := e.Prepare(&req.Spec)
			unused.Do(t.Context())
			conns.await(t, http.StateNew, 1)
			unused.Close()
			conns.await(t, http.StateClosed, 1)
			unused = e.Prepare(&req.Spec)
			unused.Close()
			unused.Do(t.Context())
			if n := conns.count(http.StateNew); n != 1 {
				t.Errorf("a preparation that was closed before opened %d connections", n-1)
			}

			req.Prepared = e.Prepare(&req.Spec)
			req.Prepared.Do(t.Context())
			conns.await(t, http.StateNew, 2)
			if n := conns.count(http.StateActive); n != 0 {
				t.Errorf("%d requests before their time", n)
			}
			if o := e.Execute(t.Context(), req); o.State != job.Succeeded {
				t.Errorf("got %+v, want succeeded", o)
			}
			req.Prepared.Close()
			conns.await(t, http.StateClosed, 2)
			if n := conns.count(http.StateNew); n != 2 {
				t.Errorf("the request opened %d connections", n-2)
			}
		})
	}
}

// A preparation never changes an outcome: what failed or broke before the request is done again.
func TestARequestDoesNotNeedItsPreparation(t *testing.T) {
	for _, scheme := range []string{"http", "https"} {
		succeeds := func(t *testing.T, e *httpx.Executor, req executor.Request) {
			t.Helper()
			if o := e.Execute(t.Context(), req); o.State != job.Succeeded {
				t.Errorf("got %+v, want succeeded", o)
			}
			req.Prepared.Close()
		}
		t.Run(scheme+" closed by the target", func(t *testing.T) {
			e, srv, conns := counting(t, scheme)
			req := request(job.HTTP{URL: srv.URL, Method: "POST", Body: "x"}, io.Discard)
			req.Prepared = e.Prepare(&req.Spec)
			req.Prepared.Do(t.Context())
			conns.await(t, http.StateNew, 1)
			srv.CloseClientConnections()
			conns.await(t, http.StateClosed, 1)
			succeeds(t, e, req)
			conns.await(t, http.StateNew, 2)
		})
		t.Run(scheme+" never begun", func(t *testing.T) {
			e, srv, _ := counting(t, scheme)
			req := request(job.HTTP{URL: srv.URL, Method: "POST"}, io.Discard)
			req.Prepared = e.Prepare(&req.Spec)
			succeeds(t, e, req)
		})
		t.Run(scheme+" failed", func(t *testing.T) {
			e, srv, _ := counting(t, scheme)
			req := request(job.HTTP{URL: srv.URL, Method: "POST"}, io.Discard)
			req.Prepared = e.Prepare(&req.Spec)
			ended, end := context.WithCancel(t.Context())
			end()
			req.Prepared.Do(ended)
			succeeds(t, e, req)
		})
		for _, of := range []string{"http", "https"} {
			t.Run(scheme+" for another target with "+of, func(t *testing.T) {
				e, srv, _ := counting(t, scheme)
				other, wrong, conns := counting(t, of)
				req := request(job.HTTP{URL: srv.URL, Method: "POST"}, io.Discard)
				req.Prepared = other.Prepare(&job.Spec{HTTP: &job.HTTP{URL: wrong.URL}})
				req.Prepared.Do(t.Context())
				conns.await(t, http.StateNew, 1)
				succeeds(t, e, req)
				conns.await(t, http.StateClosed, 1)
				if n := conns.count(http.StateActive); n != 0 {
					t.Errorf("another target got %d requests", n)
				}
			})
		}
	}
}

// A long request holds one connection, also if the pool has one for its target.
func TestALongRequestHoldsOneConnection(t *testing.T) {
	conns := &connections{counts: make(map[http.ConnState]int)}
	answer := make(chan struct{})
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			<-answer
		}
	}))
	srv.Config.ConnState = conns.add
	srv.Start()
	t.Cleanup(srv.Close)
	e := newExecutor(t)
	req := request(job.HTTP{URL: srv.URL + "/slow", Method: "POST"}, io.Discard)
	req.Prepared = e.Prepare(&req.Spec)
	req.Prepared.Do(t.Context())
	e.Execute(t.Context(), request(job.HTTP{URL: srv.URL, Method: "POST"}, io.Discard)) // its connection is kept for 0.5 s
	var wg sync.WaitGroup
	wg.Go(func() { e.Execute(t.Context(), req) })
	conns.await(t, http.StateClosed, 1) // the one of the pool
	answer <- struct{}{}
	wg.Wait()
	req.Prepared.Close()
}

// A connection that opens after its preparation was closed is closed.
func TestAConnectionThatOpensTooLateIsClosed(t *testing.T) {
	e, srv, conns := counting(t, "https")
	reached, held := make(chan struct{}), make(chan struct{})
	srv.TLS.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		close(reached)
		<-held
		return nil, nil
	}
	p := e.Prepare(&job.Spec{HTTP: &job.HTTP{URL: srv.URL}})
	var wg sync.WaitGroup
	wg.Go(func() { p.Do(t.Context()) })
	<-reached
	p.Close()
	close(held)
	wg.Wait()
	conns.await(t, http.StateClosed, 1)
}

// A request whose connection is still being opened waits for it.
func TestARequestWaitsForItsPreparation(t *testing.T) {
	e, srv, conns := counting(t, "https")
	reached, held := make(chan struct{}), make(chan struct{})
	srv.TLS.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		close(reached) // a second handshake would panic
		<-held
		return nil, nil
	}
	req := request(job.HTTP{URL: srv.URL, Method: "POST"}, io.Discard)
	req.Prepared = e.Prepare(&req.Spec)
	var wg sync.WaitGroup
	wg.Go(func() { req.Prepared.Do(t.Context()) })
	<-reached
	ended := make(chan job.Outcome, 1)
	wg.Go(func() { ended <- e.Execute(t.Context(), req) })
	select {
	case o := <-ended:
		t.Errorf("got %+v before the handshake", o)
	case <-time.After(100 * time.Millisecond):
	}
	close(held)
	wg.Wait()
	req.Prepared.Close()
	if o := <-ended; o.State != job.Succeeded || conns.count(http.StateNew) != 1 {
		t.Errorf("got %+v on %d connections, want succeeded on one", o, conns.count(http.StateNew))
	}
}

// A forbidden address is not reached ahead either. An address that only the attempt knows is not guessed.
func TestNothingIsReachedThatTheAttemptWouldNot(t *testing.T) {
	_, srv, conns := counting(t, "http")
	e := httpx.New(httpx.Config{Reach: dial.New(dial.Config{Setting: "worker.http"}, func(netip.AddrPort) bool { return false })}, func() time.Time { return at })
	t.Cleanup(e.Close)
	req := request(job.HTTP{URL: srv.URL, Method: "POST"}, io.Discard)
	req.Prepared = e.Prepare(&req.Spec)
	req.Prepared.Do(t.Context())
	if o := e.Execute(t.Context(), req); o.State != job.Failed || !strings.Contains(o.Reason, "loopback") {
		t.Errorf("got %+v, want a refusal", o)
	}
	req.Prepared.Close()
	if n := conns.count(http.StateNew); n != 0 {
		t.Errorf("%d connections to an address that is forbidden", n)
	}
	for _, url := range []string{"http://${env:HOST}/x", "http://{{ .Params.host }}/x", "https://{{ .Job }}.example/x", "${file:/url}", "://", "", "http://münchen.example/"} {
		if p := e.Prepare(&job.Spec{HTTP: &job.HTTP{URL: url}}); p != nil {
			t.Errorf("%s: prepared %+v", url, p)
		}
	}
}
