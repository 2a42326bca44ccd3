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
	g := &greeter{places: make(chan struct{}, 1), patience: 10 * time.Millisecond}
	cfg := g.config(&tls.Config{MinVersion: tls.VersionTLS12})
	connect := func() *greeted {
		ours, theirs := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, theirs) }() // ends with the connection
		t.Cleanup(func() { _ = ours.Close() })
		return &greeted{Conn: ours, by: g}
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

// A server with one place for handshakes answers all its clients, also beside clients that leave in the middle.
func TestHandshakesGiveTheirPlacesUp(t *testing.T) {
	pair := httptest.NewUnstartedServer(nil)
	pair.StartTLS()
	pair.Close()
	cfg := DefaultConfig()
	cfg.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: pair.TLS.Certificates}
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
