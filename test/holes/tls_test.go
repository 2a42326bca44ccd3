package holes

import (
	"crypto/tls"
	"net"
	"net/http"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// unverified sends requests to any server, also with TLS.
var unverified = client(&tls.Config{InsecureSkipVerify: true}) //nolint:gosec // an attacker does not verify

func client(t *tls.Config) *http.Client {
	return &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: t}}
}

// certified returns a client with a certificate of rota pki.
func certified(v *server, dir, name string) *http.Client {
	v.t.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key"))
	v.must(err)
	return client(&tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{pair}}) //nolint:gosec // as above
}

func listen(t *testing.T, addr string) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

// hangUp tells the process to read its files again.
func (v *server) hangUp() { v.must(v.process.Process.Signal(syscall.SIGHUP)) }

// kill ends the process.
func (v *server) kill() {
	_ = v.process.Process.Kill() // it may have ended
	<-v.ended
}
