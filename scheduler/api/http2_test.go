package api

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

// serveHTTP2 serves a handler over TLS, and returns a connection on which a client has begun HTTP/2.
func serveHTTP2(t *testing.T, cfg Config, handler http.Handler) net.Conn {
	t.Helper()
	pair := httptest.NewUnstartedServer(nil)
	pair.StartTLS()
	pair.Close()
	cfg.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: pair.TLS.Certificates}
	ln, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	s := New(cfg, Backend{}, hclog.NewNullLogger())
	s.handler = handler
	go func() { ended <- s.Serve(ctx, ln) }() // the clean-up receives from it
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	plain, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = plain.(*net.TCPConn).SetReadBuffer(4 << 10)                                                                            //nolint:forcetypeassert // Dial was asked for one
	conn := tls.Client(plain, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12}) //nolint:gosec // of this test
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	return conn
}

// http2Frame returns a frame of HTTP/2 (RFC 9113, section 4.1).
func http2Frame(kind, flags byte, stream uint32, payload []byte) []byte {
	b := append([]byte{0, byte(len(payload) >> 8), byte(len(payload)), kind, flags}, 0, 0, 0, 0)
	binary.BigEndian.PutUint32(b[5:], stream)
	return append(b, payload...)
}

// A client that resets its requests makes the server keep several times as many as it allows, each with its memory.
func TestAConnectionHasFewRequestsAtATime(t *testing.T) {
	conn := serveHTTP2(t, DefaultConfig(), http.NotFoundHandler())
	if _, err := conn.Write(http2Frame(4, 0, 0, nil)); err != nil { // SETTINGS
		t.Fatal(err)
	}
	var head [9]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		t.Fatal(err)
	}
	settings := make([]byte, int(head[1])<<8|int(head[2]))
	if _, err := io.ReadFull(conn, settings); err != nil || head[3] != 4 {
		t.Fatalf("got a frame of kind %d, %v, want SETTINGS", head[3], err)
	}
	for ; len(settings) >= 6; settings = settings[6:] {
		if binary.BigEndian.Uint16(settings) == 3 { // MAX_CONCURRENT_STREAMS
			if got := binary.BigEndian.Uint32(settings[2:]); got != maxConcurrent {
				t.Errorf("got %d requests, want %d", got, maxConcurrent)
			}
			return
		}
	}
	t.Error("the server names no bound")
}

// A client that asks for much and reads nothing is disconnected. Otherwise its connection would count as busy for ever, and such
// connections could take all places.
func TestAClientOfHTTP2ThatReadsNothingIsDisconnected(t *testing.T) {
	cfg := DefaultConfig()
	cfg.WriteTimeout = 200 * time.Millisecond
	conn := serveHTTP2(t, cfg, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 1<<20)) }))
	window := []byte{0, 4, 0x3f, 0xff, 0xff, 0xff} // INITIAL_WINDOW_SIZE: no flow control holds the answers
	out := append(http2Frame(4, 0, 0, window), http2Frame(8, 0, 0, window[2:])...)
	request := append([]byte{0x82, 0x87, 0x41, 9}, "localhost\x84"...) // GET, https, authority, /
	for i := range uint32(90) {
		out = append(out, http2Frame(1, 5, 2*i+1, request)...) // HEADERS with END_STREAM and END_HEADERS
	}
	if _, err := conn.Write(out); err != nil {
		t.Fatal(err)
	}
	ping := time.NewTicker(10 * time.Millisecond)
	defer ping.Stop()
	for deadline := time.Now().Add(25 * time.Second); ; <-ping.C {
		_, err := conn.Write(http2Frame(6, 0, 0, []byte(strings.Repeat("p", 8))))
		if err != nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the connection is open after 25 seconds")
		}
	}
}
