package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"github.com/rota-scheduler/rota/config"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api/client"
)

func TestStrangersAreNotAtAWrongAddress(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{fmt.Errorf("get: %w", &tls.CertificateVerificationError{Err: errors.New("unknown authority")}), true},
		{&client.Error{Status: 401}, true},
		{&client.Error{Status: 403}, true},
		{&client.Error{Status: 503}, false},
		{errors.New("no route"), false},
	} {
		if got := strange(tt.err); got != tt.want {
			t.Errorf("strange(%v): got %v, want %v", tt.err, got, tt.want)
		}
	}
}

// With the settings of this machine, doctor asks replicas as the process of this machine does. A process has no role, so the
// replica then answers only whether it is ready.
func TestDoctorAsksWithTheCertificatesOfTheSettings(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	cert, key := certificate(t)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	clients := x509.NewCertPool()
	clients.AddCert(pair.Leaf)
	status := http.StatusOK
	answers := http.NewServeMux()
	answers.HandleFunc("/v1/cluster", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"ready":false,"not_ready":["by role"]}`)
	})
	answers.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "[+]store\n[-]space: etcd is full\n")
	})
	s := httptest.NewUnstartedServer(answers)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	set := &config.Settings{HTTP: config.HTTP{TLS: config.ServerTLS{Cert: cert, Key: key, ClientCA: cert}}}
	c := &cli{err: io.Discard}

	if a := c.ask(t.Context(), "q1", s.URL, nil); a.Err == nil || !a.Strange {
		t.Errorf("without settings: got %+v, want a stranger", a)
	}
	if a := c.ask(t.Context(), "q1", s.URL, set); a.Err != nil || !slices.Equal(a.Why, []string{"by role"}) {
		t.Errorf("with a role: got %+v", a)
	}
	status = http.StatusForbidden
	a := c.ask(t.Context(), "q1", s.URL, set)
	if a.Err != nil || a.Refused == nil || a.Ready || !slices.Equal(a.Why, []string{"space: etcd is full"}) {
		t.Errorf("without a role: got %+v", a)
	}
	c.cacert, c.cert, c.certKey = cert, cert, key
	if a := c.ask(t.Context(), "q1", s.URL, set); a.Err == nil || !a.Strange {
		t.Errorf("with a certificate of the operator's own: got %+v, want the refusal", a)
	}
}
