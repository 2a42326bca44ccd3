package signin

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/rota-scheduler/rota/cmd/rota/internal/credentials"
)

// browserPatience is how long a person may take to sign in with a browser.
const browserPatience = 5 * time.Minute

// callbackPath is where the provider sends the browser back to.
const callbackPath = "/callback"

// Browser signs a person in with a browser on this machine: the code flow with PKCE, which ends at a port of 127.0.0.1 (RFC 8252).
// show shows the person the address at the provider.
func Browser(
	ctx context.Context, client *http.Client, issuer, clientID string, scopes []string, show func(address string),
) (credentials.OpenID, error) {
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, client), browserPatience)
	defer cancel()
	p, err := discover(ctx, issuer, clientID)
	if err != nil {
		return credentials.OpenID{}, err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return credentials.OpenID{}, fmt.Errorf("await the browser: %w", err)
	}
	back := &callback{state: rand.Text(), done: make(chan answer, 1)}
	served := make(chan struct{})
	srv := &http.Server{Handler: back, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(served)
		_ = srv.Serve(ln) // it ends when it is closed
	}()
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second) // the browser gets its answer
		defer cancel()
		_ = srv.Shutdown(end)
		_ = srv.Close()
		<-served
	}()

	p.config.Scopes = p.withRefresh(scopes)
	p.config.RedirectURL = "http://" + ln.Addr().String() + callbackPath
	verifier, nonce := oauth2.GenerateVerifier(), rand.Text()
	show(p.config.AuthCodeURL(back.state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier)))
	var got answer
	select {
	case got = <-back.done:
	case <-ctx.Done():
		return credentials.OpenID{}, fmt.Errorf("await the browser: %w", context.Cause(ctx))
	}
	if got.code == "" {
		return credentials.OpenID{}, fmt.Errorf("end the sign-in: %w", refusal(got.refused))
	}
	given, err := p.config.Exchange(ctx, got.code, oauth2.VerifierOption(verifier))
	if err != nil {
		return credentials.OpenID{}, fmt.Errorf("end the sign-in: %w", shortened(err))
	}
	return p.entry(ctx, given, nonce)
}

// callback receives the browser when it comes back from the provider.
type callback struct {
	state string
	done  chan answer // gets the first answer that belongs to the sign-in
}

// answer is the answer of the provider: a code, or why it gives none.
type answer struct{ code, refused string }

func (c *callback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer") // the address has the code
	q := r.URL.Query()
	got := answer{code: q.Get("code"), refused: q.Get("error")}
	switch {
	case r.URL.Path != callbackPath || r.Method != http.MethodGet:
		http.NotFound(w, r)
		return
	case subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(c.state)) != 1, got.code == "" && got.refused == "":
		http.Error(w, "This is not the answer to the sign-in that waits here.", http.StatusBadRequest)
		return
	}
	select {
	case c.done <- got:
		_, _ = io.WriteString(w, "Close this page, and return to the terminal.\n") // the browser may be gone
	default:
		http.Error(w, "The sign-in has already ended.", http.StatusBadRequest)
	}
}

// errNonce means that an ID token belongs to another sign-in.
var errNonce = errors.New("check the ID token: it belongs to another sign-in")
