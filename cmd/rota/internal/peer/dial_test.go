package peer

import (
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/rota-scheduler/rota/cmd/rota/internal/pki/pkitest"
	"github.com/rota-scheduler/rota/config"
)

// A process whose TLS is optional reaches processes with and without TLS. It does not fall back to plain HTTP if the other side
// speaks TLS with a certificate that it does not trust. A process whose TLS is required reaches no process without TLS.
func TestOptionalTLSReachesBoth(t *testing.T) {
	t.Parallel()
	own, other := pkitest.Replicas(t, "q1", "q2"), pkitest.Replicas(t, "q1", "q2")
	serve := func(certificates string) string { // "": without TLS
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		t.Cleanup(s.Close)
		if certificates == "" {
			s.Start()
			return s.Listener.Addr().String()
		}
		pair, err := tls.LoadX509KeyPair(filepath.Join(certificates, "q2.crt"), filepath.Join(certificates, "q2.key"))
		if err != nil {
			t.Fatal(err)
		}
		s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
		s.StartTLS()
		return s.Listener.Addr().String()
	}
	plain, secure, foreign := serve(""), serve(own), serve(other)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := closed.Addr().String()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}

	file := func(name string) string { return filepath.Join(own, name) }
	required := config.ServerTLS{Cert: file("q1.crt"), Key: file("q1.key"), ClientCA: file("ca.crt")}
	optional := required
	optional.Optional = true
	for _, tt := range []struct {
		name, addr string
		tls        config.ServerTLS
		ok, byTLS  bool
	}{
		{"optional to plain", plain, optional, true, false},
		{"optional to TLS", secure, optional, true, true},
		{"optional to a foreign certificate", foreign, optional, false, false},
		{"optional to nobody", gone, optional, false, false},
		{"required to plain", plain, required, false, false},
		{"required to TLS", secure, required, true, true},
	} {
		scheme, transport, err := Transport(tt.tls)
		if err != nil {
			t.Fatal(err)
		}
		// A plain server answers a handshake when it has read a line. One handshake in some hundred contains no line.
		var res *http.Response
		for range 3 {
			req, err2 := http.NewRequestWithContext(t.Context(), http.MethodGet, scheme+tt.addr, nil)
			if err2 != nil {
				t.Fatal(err2)
			}
			if res, err = transport.RoundTrip(req); err == nil || !tt.ok {
				break
			}
		}
		if (err == nil) != tt.ok {
			t.Errorf("%s: got %v, want success %t", tt.name, err, tt.ok)
		}
		if err == nil {
			text, err := io.ReadAll(res.Body)
			res.Body.Close()
			if err != nil || string(text) != "hello" || (res.TLS != nil) != tt.byTLS {
				t.Errorf("%s: got %q, %v, by TLS %t", tt.name, text, err, res.TLS != nil)
			}
		}
		if _, plain := errors.AsType[tls.RecordHeaderError](err); plain && tt.tls.Optional {
			t.Errorf("%s: got %v, want the plain connection", tt.name, err)
		}
		transport.CloseIdleConnections()
	}
}
