package api

import (
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
)

func TestIdleConnectionsMakeRoom(t *testing.T) {
	hold, held := make(chan struct{}), make(chan struct{}, 10)
	connect := serveBounded(t, 3, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hold" {
			held <- struct{}{}
			<-hold
		}
	}))
	release := sync.OnceFunc(func() { close(hold) })
	t.Cleanup(release) // Close waits for the handler
	busy := connect()
	if _, err := io.WriteString(busy, "GET /hold HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-held
	idle := []net.Conn{connect(), connect()}
	for _, conn := range idle {
		if !answers(conn, "/") {
			t.Fatal("a connection within the limit gets no answer")
		}
	}
	// Each new connection replaces the one that has been idle for longest. The server counts a connection as idle soon after
	// its answer has arrived. Until then there may be no room for a new one.
	deadline := time.Now().Add(10 * time.Second)
	for answered := 0; answered < 20 || !closed(idle[0]) || !closed(idle[1]); {
		if answers(connect(), "/") {
			answered++
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d new connections got an answer, and the oldest idle connections are still open", answered)
		}
	}
	release()
	if n, err := busy.Read(make([]byte, 1024)); err != nil || n == 0 {
		t.Errorf("the busy connection was closed: %v", err)
	}
}

// closed reports whether the server has closed conn. It sends nothing, because a request would make conn the youngest.
func closed(conn net.Conn) bool {
	_ = conn.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := conn.Read(make([]byte, 1))
	return err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
}

// A client that sends no more than the beginning of a body must not keep others out, whether the server waits for the body or has
// refused the request before.
func TestBodiesOnTheirWayMakeRoom(t *testing.T) {
	for _, path := range []string{"/hook", "/refused"} {
		s := New(DefaultConfig(), Backend{}, hclog.NewNullLogger())
		began := make(chan struct{}, 10)
		waits := s.bounded(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		connect := serveBounded(t, 3, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				began <- struct{}{}
			}
			if r.URL.Path == "/refused" {
				s.leaveBody(w, r)
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			waits.ServeHTTP(w, r)
		}))
		for range 3 {
			if _, err := io.WriteString(connect(), "POST "+path+" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{"); err != nil {
				t.Fatal(err)
			}
			<-began
		}
		deadline := time.After(5 * time.Second) // earlier than the bodies time out
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for !answers(connect(), "/") {
			select {
			case <-tick.C:
			case <-deadline:
				t.Fatalf("%s: slow bodies keep all other clients out", path)
			}
		}
	}
}

// A connection with TLS whose client reads nothing must not delay the others when it makes room.
func TestMakingRoomWaitsForNoClient(t *testing.T) {
	srv := httptest.NewTLSServer(nil)
	srv.Close()
	synctest.Test(t, func(t *testing.T) {
		server, client := net.Pipe()
		conn := tls.Server(server, &tls.Config{Certificates: srv.TLS.Certificates, SessionTicketsDisabled: true})
		var reads sync.WaitGroup
		reads.Go(func() { _ = tls.Client(client, &tls.Config{InsecureSkipVerify: true}).Handshake() })
		if err := conn.Handshake(); err != nil {
			t.Fatal(err)
		}
		reads.Wait()
		all := newConnections(1, func() {})
		all.state(conn, http.StateNew)
		began := time.Now()
		all.state(server, http.StateNew)
		if took := time.Since(began); took > 0 || len(all.open) != 1 {
			t.Errorf("made room after %v", took)
		}
	})
}

// A connection of HTTP/2 is busy while any of its requests is, and idle afterwards.
func TestAConnectionOfHTTP2IsBusy(t *testing.T) {
	all := newConnections(10, func() {})
	working := func() (requests int) {
		all.mu.Lock()
		defer all.mu.Unlock()
		for _, l := range all.open {
			if requests += l.busy; (l.busy == 0) != (l.idler != nil) {
				t.Errorf("a connection with %d requests: idle %t", l.busy, l.idler != nil)
			}
		}
		return requests
	}
	srv := httptest.NewUnstartedServer(busy(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if got := working(); got != 1 || r.ProtoMajor != 2 {
			t.Errorf("during a request of %s: %d requests", r.Proto, got)
		}
		resume := interrupt(r, false)
		if got := working(); got != 0 {
			t.Errorf("during an interruption: %d requests", got)
		}
		resume()
	})))
	srv.EnableHTTP2 = true
	srv.Config.ConnState, srv.Config.ConnContext = all.state, withConn(all)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	for range 2 {
		res, err := srv.Client().Get(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if got := working(); got != 0 {
			t.Errorf("after the answer: %d requests", got)
		}
	}
}

// serveBounded serves a handler with a limit of connections, and returns a function that opens one.
func serveBounded(t *testing.T, limit int, handler http.Handler) (connect func() net.Conn) {
	t.Helper()
	srv := httptest.NewUnstartedServer(busy(handler))
	all := newConnections(limit, func() {})
	srv.Config.ConnState, srv.Config.ConnContext = all.state, withConn(all)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.Start()
	t.Cleanup(srv.Close)
	return func() net.Conn {
		conn, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
		return conn
	}
}

// answers reports whether a connection gets an answer to a request.
func answers(conn net.Conn, path string) bool {
	if _, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		return false
	}
	n, err := conn.Read(make([]byte, 1024))
	return err == nil && n > 0
}
