package api

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

// splitting returns a split listener that is closed when the test ends.
func splitting(t *testing.T, limit int, wait time.Duration) (addr string, secure, plain net.Listener, ended <-chan struct{}) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	secure, plain, run := split(ln, limit, wait)
	done := make(chan struct{})
	go func() { defer close(done); run() }() // the clean-up waits for it
	t.Cleanup(func() { _ = plain.Close(); <-done })
	return ln.Addr().String(), secure, plain, done
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// awaitClosed fails the test if the other side does not close the connection.
func awaitClosed(t *testing.T, conn net.Conn) {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the connection has bytes, want it closed")
	} else if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		t.Error("the connection is open after ten seconds")
	}
}

func TestTheFirstByteDecidesAndNoByteIsLost(t *testing.T) {
	t.Parallel()
	addr, secure, plain, _ := splitting(t, 10, time.Minute)
	for _, tt := range []struct {
		first byte
		to    net.Listener
	}{{'G', plain}, {handshakeRecord, secure}, {0, plain}, {handshakeRecord, secure}} {
		conn := dial(t, addr)
		if _, err := conn.Write([]byte{tt.first, 'e', 't'}); err != nil {
			t.Fatal(err)
		}
		got, err := tt.to.Accept()
		if err != nil {
			t.Fatal(err)
		}
		text := make([]byte, 3)
		if _, err := io.ReadFull(got, text); err != nil || text[0] != tt.first || string(text[1:]) != "et" {
			t.Errorf("first byte %#x: got %q, %v", tt.first, text, err)
		}
		_ = got.Close()
	}
}

func TestASilentConnectionEnds(t *testing.T) {
	t.Parallel()
	addr, _, plain, _ := splitting(t, 10, 50*time.Millisecond)
	silent := dial(t, addr)
	awaitClosed(t, silent)
	spoken := dial(t, addr)
	if _, err := spoken.Write([]byte("GET")); err != nil {
		t.Fatal(err)
	}
	got, err := plain.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	if _, err := io.ReadFull(got, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	later := time.AfterFunc(200*time.Millisecond, func() { _, _ = spoken.Write([]byte("x")) }) // after the time for the first byte
	defer later.Stop()
	if _, err := got.Read(make([]byte, 1)); err != nil {
		t.Errorf("the time for the first byte also bounds later ones: %v", err)
	}
}

func TestSilentConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	addr, _, plain, _ := splitting(t, 1, time.Minute)
	first := dial(t, addr)
	awaitClosed(t, dial(t, addr)) // a second silent one
	if _, err := first.Write([]byte("G")); err != nil {
		t.Fatal(err)
	}
	if got, err := plain.Accept(); err != nil {
		t.Errorf("the first connection was closed as well: %v", err)
	} else {
		_ = got.Close()
	}
}

func TestCloseEndsBothHalvesAndSilentConnections(t *testing.T) {
	t.Parallel()
	addr, secure, plain, ended := splitting(t, 10, time.Minute)
	silent, waiting := dial(t, addr), dial(t, addr)
	if _, err := waiting.Write([]byte("G")); err != nil { // nobody accepts it
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for _, half := range []net.Listener{secure, plain} {
		wg.Go(func() {
			if _, err := half.Accept(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("Accept after Close: got %v, want net.ErrClosed", err)
			}
		})
	}
	if err := secure.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := plain.Close(); err != nil {
		t.Errorf("close the second half: got %v, want nil", err)
	}
	wg.Wait()
	awaitClosed(t, silent)
	awaitClosed(t, waiting)
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("run goes on after Close")
	}
}

// temporary is a listener whose Accept fails once in a way that passes, such as a lack of descriptors.
type temporary struct {
	net.Listener
	once sync.Once
}

func (l *temporary) Accept() (conn net.Conn, err error) {
	l.once.Do(func() { err = &net.OpError{Op: "accept", Err: tooMany{}} })
	if err != nil {
		return nil, err
	}
	return l.Listener.Accept()
}

type tooMany struct{}

func (tooMany) Error() string   { return "too many open files" }
func (tooMany) Timeout() bool   { return false }
func (tooMany) Temporary() bool { return true }

// A server with optional TLS answers both kinds of clients on one port, also after an error that passes, and ends at once although
// a client is silent.
func TestOptionalTLSServesBoth(t *testing.T) {
	t.Parallel()
	ts := httptest.NewUnstartedServer(nil) // for its certificate alone
	ts.StartTLS()
	certificate := ts.TLS.Certificates
	client := ts.Client()
	ts.Close()

	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg := DefaultConfig()
	cfg.TLS = &tls.Config{Certificates: certificate, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	cfg.Plain = true
	stopped := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { stopped <- New(cfg, Backend{}, hclog.NewNullLogger()).Serve(ctx, &temporary{Listener: ln}) }()
	for _, url := range []string{"http://" + ln.Addr().String(), "https://" + ln.Addr().String()} {
		res, err := client.Get(url + "/livez")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK || (res.TLS != nil) != (url[:5] == "https") {
			t.Errorf("%s: got %d, TLS %t", url, res.StatusCode, res.TLS != nil)
		}
	}
	client.CloseIdleConnections()
	_ = dial(t, ln.Addr().String()) // silent
	raw := dial(t, ln.Addr().String())
	fmt.Fprintf(raw, "GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
	if res, err := http.ReadResponse(bufio.NewReader(raw), nil); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("a plain request by hand: %v", err)
	}
	began := time.Now()
	cancel()
	select {
	case err := <-stopped:
		if err != nil {
			t.Errorf("Serve: %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("Serve goes on")
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("Serve ended after %v, because a client was silent", took)
	}
}
