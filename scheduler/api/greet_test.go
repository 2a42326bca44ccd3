package api

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Only as many handshakes compute as there are places. The others wait, and are refused after a time.
func TestFewHandshakesComputeAtATime(t *testing.T) {
	g := newGreeter(1, 10*time.Millisecond)
	cfg := g.config(&tls.Config{MinVersion: tls.VersionTLS12})
	connect := func() *greeted {
		ours, theirs := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, theirs) }() // ends with the connection
		t.Cleanup(func() { _ = ours.Close() })
		return newGreeted(ours, g)
	}
	begin := func(c *greeted) error {
		_, err := cfg.GetConfigForClient(&tls.ClientHelloInfo{Conn: c})
		return err
	}
	first, second, third := connect(), connect(), connect()
	if err := begin(first); err != nil {
		t.Fatal(err)
	}
	if err := begin(second); !errors.Is(err, errGreetings) {
		t.Errorf("a second handshake beside the first: got %v, want %v", err, errGreetings)
	}
	for range 2 { // the second write must not give a place up that another handshake has
		if _, err := first.Write([]byte("hello")); err != nil {
			t.Fatal(err)
		}
	}
	if err := begin(second); err != nil {
		t.Errorf("after the answer to the first: %v", err)
	}
	_ = second.Close()
	if err := begin(third); err != nil {
		t.Errorf("after the end of the second: %v", err)
	}
}

// A handshake with two messages of the client, because the server has asked for another one, needs a place again before it signs.
func TestASecondHelloWaitsForAPlace(t *testing.T) {
	pair := func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return new(tls.Certificate), nil }
	own := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: pair}
	other := own.Clone()
	other.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return own, nil }
	for name, cfg := range map[string]*tls.Config{"its own configuration": own, "one for the client": other} {
		g := newGreeter(1, 10*time.Millisecond)
		cfg = g.config(cfg)
		ours, theirs := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, theirs) }() // ends with the connection
		c := newGreeted(ours, g)
		hello := &tls.ClientHelloInfo{Conn: c}
		given, err := cfg.GetConfigForClient(hello)
		if given == nil {
			given = cfg
		}
		if _, signs := given.GetCertificate(hello); err != nil || signs != nil {
			t.Errorf("%s: with a place: got %v, %v", name, err, signs)
		}
		if _, err := c.Write([]byte("say hello again")); err != nil {
			t.Fatal(err)
		}
		g.places <- struct{}{} // another handshake
		if _, err := given.GetCertificate(hello); !errors.Is(err, errGreetings) {
			t.Errorf("%s: without a place: got %v, want %v", name, err, errGreetings)
		}
		<-g.places
		_, err = given.GetCertificate(hello)
		_ = c.Close()
		if err != nil || len(g.places) != 0 {
			t.Errorf("%s: got %v, and %d places are taken after the end", name, err, len(g.places))
		}
	}
}

// A connection that was closed to make room for others waits for no place, and keeps none.
func TestAClosedConnectionTakesNoPlace(t *testing.T) {
	g := newGreeter(1, time.Hour)
	for range 100 {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		c := newGreeted(ours, g)
		_ = c.Close()
		if c.enter() || len(g.places) != 0 {
			t.Fatal("a closed connection has a place")
		}
	}
	g.places <- struct{}{}
	ours, theirs := net.Pipe()
	defer theirs.Close()
	c := newGreeted(ours, g)
	entered := make(chan bool)
	go func() { entered <- c.enter() }() // the test receives from it
	_ = c.Close()
	select {
	case got := <-entered:
		if got {
			t.Error("got a place that another handshake has")
		}
	case <-time.After(20 * time.Second):
		t.Fatal("a closed connection waits for a place")
	}
}

// While many handshakes wait, further connections wait in the kernel. The process would close the oldest ones before their turn.
func TestConnectionsWaitInTheKernel(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	g := newGreeter(1, time.Hour)
	for range cap(g.queue) {
		g.queue <- struct{}{}
	}
	dialed, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer dialed.Close()
	accepted := make(chan net.Conn, 1)
	go func() { // the test receives from it
		c, err := greetings{ln, g}.Accept()
		if err != nil {
			t.Error(err)
		}
		accepted <- c
	}()
	select {
	case <-accepted:
		t.Error("a connection was accepted beside a full queue")
	case <-time.After(50 * time.Millisecond):
		<-g.queue
		_ = (<-accepted).Close()
	}
}

// A server with one place for handshakes answers all its clients, also beside clients that leave in the middle.
func TestHandshakesGiveTheirPlacesUp(t *testing.T) {
	t.Run("one hello", func(t *testing.T) { handshakes(t, nil) })
	t.Run("two hellos", func(t *testing.T) { handshakes(t, []tls.CurveID{tls.CurveP384}) }) // no client has guessed it
}

func handshakes(t *testing.T, curves []tls.CurveID) {
	t.Helper()
	pair := httptest.NewUnstartedServer(nil)
	pair.StartTLS()
	pair.Close()
	cfg := DefaultConfig()
	cfg.TLS = &tls.Config{
		MinVersion: tls.VersionTLS12, CurvePreferences: curves,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair.TLS.Certificates[0], nil },
	}
	ln, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- New(cfg, Backend{}, hclog.NewNullLogger()).Serve(ctx, ln) }() // the test receives from it
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { // it does not trust the certificate, and leaves
			_, _ = tls.DialWithDialer(&net.Dialer{Timeout: 10 * time.Second}, "tcp", ln.Addr().String(), &tls.Config{ServerName: "other", MinVersion: tls.VersionTLS12})
		})
		wg.Go(func() {
			client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
				TLSClientConfig: pair.Client().Transport.(*http.Transport).TLSClientConfig, DisableKeepAlives: true, //nolint:forcetypeassert // httptest makes it
			}}
			res, err := client.Get("https://" + ln.Addr().String() + "/livez") //nolint:noctx // the client has a timeout
			if err != nil {
				t.Error(err)
				return
			}
			res.Body.Close()
		})
	}
	wg.Wait()
}
