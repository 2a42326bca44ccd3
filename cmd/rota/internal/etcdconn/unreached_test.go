package etcdconn

import (
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/cmd/rota/internal/pki/pkitest"
	"github.com/rota-scheduler/rota/config"
)

// TestTheCauseOfASilentEndpoint makes the mistakes in etcd.endpoints and etcd.tls for which the client of etcd only waits.
func TestTheCauseOfASilentEndpoint(t *testing.T) {
	t.Parallel()
	ours, others := pkitest.Replicas(t, "q1"), pkitest.Replicas(t, "q1")
	pair, err := tls.LoadX509KeyPair(filepath.Join(ours, "q1.crt"), filepath.Join(ours, "q1.key"))
	if err != nil {
		t.Fatal(err)
	}
	pool, err := clientTLS(config.ClientTLS{CA: filepath.Join(ours, "ca.crt")})
	if err != nil {
		t.Fatal(err)
	}
	secured := httptest.NewUnstartedServer(http.NotFoundHandler())
	secured.TLS = &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool.RootCAs,
	}
	secured.EnableHTTP2 = true
	secured.Config.ErrorLog = log.New(io.Discard, "", 0)
	secured.StartTLS()
	t.Cleanup(secured.Close)
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)

	files := func(dir string) config.ClientTLS {
		return config.ClientTLS{
			Cert: filepath.Join(dir, "q1.crt"), Key: filepath.Join(dir, "q1.key"), CA: filepath.Join(dir, "ca.crt"),
		}
	}
	strange := files(ours)
	strange.CA = filepath.Join(others, "ca.crt")
	host := func(s *httptest.Server) string { return s.Listener.Addr().String() }
	foreign := files(others)
	foreign.CA = filepath.Join(ours, "ca.crt")
	for name, tc := range map[string]struct {
		endpoint string
		tls      config.ClientTLS
		want     string
	}{
		"http for https":      {"http://" + host(secured), config.ClientTLS{}, host(secured) + " has TLS: write https://"},
		"https for http":      {"https://" + host(plain), files(ours), host(plain) + " has no TLS: write http://"},
		"another authority":   {"https://" + host(secured), strange, "with etcd.tls: tls: failed to verify certificate"},
		"no certificate":      {"https://" + host(secured), config.ClientTLS{CA: foreign.CA}, "remote error: tls: certificate required"},
		"foreign certificate": {"https://" + host(secured), foreign, "with etcd.tls: remote error: tls:"},
		"nothing wrong":       {"https://" + host(secured), files(ours), "no answer"},
		"nothing, plain":      {"http://" + host(plain), config.ClientTLS{}, "no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := unreached(t.Context(), config.Etcd{Endpoints: []string{tc.endpoint}, TLS: tc.tls}, errors.New("no answer"))
			if !strings.Contains(got, tc.want) {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}
