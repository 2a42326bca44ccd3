package node

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/peer"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// certificates makes an authority and a certificate signed by it. The certificate is for servers and clients on loopback.
func certificates(t *testing.T) config.ServerTLS {
	t.Helper()
	dir := t.TempDir()
	save := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	issue := func(template, parent *x509.Certificate, by *ecdsa.PrivateKey) ([]byte, *ecdsa.PrivateKey) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if by == nil {
			by = key
		}
		der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
		if err != nil {
			t.Fatal(err)
		}
		return der, key
	}
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	caDER, caKey := issue(ca, ca, nil)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: ca.NotBefore, NotAfter: ca.NotAfter, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, key := issue(leaf, ca, caKey)
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return config.ServerTLS{
		Cert: save("cert.pem", "CERTIFICATE", der), Key: save("key.pem", "EC PRIVATE KEY", keyDER), ClientCA: save("ca.pem", "CERTIFICATE", caDER),
	}
}

func TestTheAPISpeaksTLSAndKnowsItsClients(t *testing.T) {
	t.Parallel()
	certs := certificates(t)
	set := settings(t, "q1")
	set.HTTP.TLS, set.Worker.Enabled = certs, false
	worker := outside(t, "w1", set.Etcd.Embedded.Client)
	worker.HTTP.TLS = certs
	q1 := begin(t, Config{Settings: set, Version: version})
	begin(t, Config{Role: WorkerOnly, Settings: worker, Version: version})

	scheme, transport, err := peer.Transport(certs)
	server := scheme + set.HTTP.Listen
	if err != nil {
		t.Fatal(err)
	}
	if q1.Client, err = client.New(client.Config{Servers: server, Transport: transport}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q1.Client.Close)

	t.Run("plain HTTP is refused", func(t *testing.T) {
		resp, err := http.Get("http://" + set.HTTP.Listen + "/v1/jobs")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode != http.StatusBadRequest {
				t.Errorf("got %s", resp.Status)
			}
		}
	})
	t.Run("a client without a certificate is refused", func(t *testing.T) {
		ca, err := peer.Authority(certs).Read()
		if err != nil {
			t.Fatal(err)
		}
		stranger := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca.Own}}
		defer stranger.CloseIdleConnections()
		resp, err := (&http.Client{Transport: stranger}).Get(server + "/v1/jobs")
		if err == nil {
			resp.Body.Close()
			t.Errorf("got %s", resp.Status)
		} else if !strings.Contains(err.Error(), "certificate required") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("the output of a worker is read with the replica's certificate", func(t *testing.T) {
		q1.put(t, "talk", job.Spec{Shell: "seq 1 5000"})
		v := q1.ends(t, q1.submit(t, "talk", api.RunRequest{}).Ref, job.Succeeded)
		if got := q1.output(t, v.Ref, 0, false); !strings.HasSuffix(got, "\n5000\n") || !strings.HasPrefix(got, "1\n2\n") {
			t.Errorf("got %d bytes", len(got))
		}
	})
	t.Run("a second node of the same name is refused", func(t *testing.T) {
		eventually(t, "the first one is seen", func() bool {
			_, err := q1.node.store.Replica(t.Context(), "q1")
			return err == nil
		})
		second := outside(t, "q1", set.Etcd.Embedded.Client)
		second.HTTP.TLS = certs
		begin(t, Config{Settings: second, Version: version}).stopped(t, "node name q1 is held by")
	})
}

// To withdraw access, an operator removes an authority from the file. This needs no restart. While the file is not whole, the last
// authorities count, so an editor does not lock all clients out.
func TestARemovedAuthorityIsNotTrusted(t *testing.T) {
	t.Parallel()
	own, other := certificates(t), certificates(t)
	read := func(path string) []byte {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	write := func(text []byte) {
		if err := os.WriteFile(own.ClientCA, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	alone := read(own.ClientCA)
	server, err := serverTLS(own)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := tls.Listen("tcp", "127.0.0.1:0", server)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: time.Second, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = srv.Serve(ln) }() // ends with the test
	t.Cleanup(func() { _ = srv.Close() })
	pair, err := tls.LoadX509KeyPair(other.Cert, other.Key)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(alone)
	sessions := tls.NewLRUClientSessionCache(1) // the cache lets a client try to resume its session
	asks := func() error {
		transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
			RootCAs: roots, Certificates: []tls.Certificate{pair}, ClientSessionCache: sessions,
		}}
		resp, err := (&http.Client{Transport: transport, Timeout: 5 * time.Second}).Get("https://" + ln.Addr().String())
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	if err := asks(); err == nil {
		t.Error("a client of an unknown authority is let in")
	}
	write(slices.Concat(alone, read(other.ClientCA)))
	if err := asks(); err != nil {
		t.Errorf("a client of an authority that was added: %v", err)
	}
	write(nil)
	if err := asks(); err != nil {
		t.Errorf("while the file is empty: %v", err)
	}
	write(alone)
	if err := asks(); err == nil {
		t.Error("a client of an authority that was removed is let in")
	}
	write([]byte("garbage"))
	if err := asks(); err == nil {
		t.Error("a client of an authority that was removed is let in while the file is garbage")
	}
}
