package embedded

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/hashicorp/go-hclog"
)

// The certificate for peers may be unreadable for a moment, and its authority may be replaced. Neither may end the tending of the
// members, or let a healthy member pass for a silent one.
func TestAMemberIsAskedWithThePresentCertificate(t *testing.T) {
	t.Parallel()
	own, next := selfSigned(t), selfSigned(t)
	s := &Server{cfg: Config{Name: "q1", PeerTLS: own}.withDefaults(), log: hclog.NewNullLogger()}
	pair, err := tls.LoadX509KeyPair(next.Cert, next.Key)
	if err != nil {
		t.Fatal(err)
	}
	other := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "[]") }))
	other.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	other.Config.ErrorLog = log.New(io.Discard, "", 0)
	other.StartTLS()
	defer other.Close()
	m := member(2, "q2", other.URL, true)

	replace := func(file, by string) {
		t.Helper()
		if err := os.Rename(by, file); err != nil {
			t.Fatal(err)
		}
	}
	if s.answers(t.Context(), m) {
		t.Error("a member of another authority is trusted")
	}
	replace(own.Cert+".away", own.Cert)
	if !s.answers(t.Context(), m) {
		t.Error("without a certificate, a member counts as silent")
	}
	replace(own.Cert, next.Cert)
	replace(own.Key, next.Key)
	if !s.answers(t.Context(), m) {
		t.Error("after the authority was replaced, a healthy member counts as silent")
	}
	other.Close()
	if s.answers(t.Context(), m) {
		t.Error("a member that has ended counts as one that answers")
	}
}
