package embedded

import (
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/test/ports"
)

// replace puts the certificate, key and authority of next in the place of those of t.
func (t TLS) replace(by TLS) error {
	return errors.Join(os.Rename(by.Cert, t.Cert), os.Rename(by.Key, t.Key)) // the certificate is its own authority
}

// A member that waits for the others reads its certificates again, because an operator may replace wrong ones meanwhile.
func TestAMemberThatWaitsReadsItsCertificatesAgain(t *testing.T) {
	t.Parallel()
	own, next := selfSigned(t), selfSigned(t)
	pair, err := tls.LoadX509KeyPair(next.Cert, next.Key)
	if err != nil {
		t.Fatal(err)
	}
	other := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set(freshHeader, "true") }))
	other.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	other.Config.ErrorLog = log.New(io.Discard, "", 0)
	other.StartTLS()
	defer other.Close()

	cluster := "q1=https://" + ports.Addr(t) + ",q2=" + other.URL
	s := &Server{cfg: Config{Name: "q1", Cluster: cluster, PeerTLS: own, Rejoin: true}.withDefaults(), log: hclog.NewNullLogger()}
	err = s.join(withTimeout(t, 2*time.Second), s.cfg.etcd())
	wantError(t, err, "certificate signed by unknown authority")
	joined := make(chan error, 1)
	ctx := withTimeout(t, 20*time.Second)
	go func() { joined <- s.join(ctx, s.cfg.etcd()) }()
	rt, err := s.cfg.peerTransport()
	if err != nil {
		t.Fatal(err)
	}
	defer rt.CloseIdleConnections()
	eventually(t, "the member waits", func() bool { return askMember(ctx, rt, s.cfg.Peer, "q2").fresh })
	if err := own.replace(next); err != nil {
		t.Fatal(err)
	}
	if err := <-joined; err != nil {
		t.Errorf("with the new authority: %v", err)
	}
}

// The members without data that ask this one may have certificates of a new authority, too.
func TestAMemberThatWaitsAnswersByItsPresentCertificates(t *testing.T) {
	t.Parallel()
	own, next := selfSigned(t), selfSigned(t)
	self := "https://" + ports.Addr(t)
	b, err := newBeacon(Config{Name: "q1", Peer: self, PeerTLS: own}.withDefaults().etcd())
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	asks := func(files TLS) error {
		rt, err := Config{PeerTLS: files}.withDefaults().peerTransport()
		if err != nil {
			return err
		}
		defer rt.CloseIdleConnections()
		return askMember(t.Context(), rt, self, "q2").err
	}
	if err := asks(own); err != nil {
		t.Errorf("with the authority of this member: %v", err)
	}
	if err := asks(next); err == nil {
		t.Error("a member of another authority is answered")
	}
	if err := own.replace(next); err != nil {
		t.Fatal(err)
	}
	if err := asks(own); err != nil {
		t.Errorf("with the new authority: %v", err)
	}
	if !b.answered([]peer{{name: "q2"}}) {
		t.Error("the beacon does not know which members it has answered")
	}
}
