package authn

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/time/rate"

	"github.com/rota-scheduler/rota/cmd/rota/internal/loop"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

// poll is the interval at which the Authenticator checks the file for changes. A token that was removed from the file is refused
// after at most this time.
const poll = 500 * time.Millisecond

// Authenticator authenticates requests by the auth.file, by client certificates, and by an OpenID provider. It is safe for
// concurrent use.
type Authenticator struct {
	path string
	now  func() time.Time
	log  hclog.Logger

	known    atomic.Pointer[auth.Directory]
	mistake  atomic.Pointer[Mistake]                   // nil: the file is right
	tokens   atomic.Pointer[Tokens]                    // nil until UseTokens
	clock    atomic.Pointer[func(time.Time) time.Time] // corrects now; nil until UseClock
	sessions *sessions
	provider Provider // nil: no OpenID provider proves principals; set before the first request
	codes    *rate.Limiter
	load     func(path string) (auth.File, error) // load, except in tests
	state    fileState                            // state of the file at the last read; owned by Run
	unread   bool                                 // the last read failed, and may succeed although the file is the same; owned by Run
}

// Mistake says why the file on the disk is not in force.
type Mistake struct {
	Text  string
	Since time.Time
}

// Tokens finds the tokens of the store. At the instant heard, the answer was right.
type Tokens interface {
	Token(id string) (token *auth.Token, heard time.Time)
}

// tokensOutage is how long the tokens of the store count while the store does not answer. Afterwards only tokens of the file and
// certificates prove a principal.
const tokensOutage = 10 * time.Minute

// Open reads the file. Call Run to follow its changes.
func Open(path string, now func() time.Time, log hclog.Logger) (*Authenticator, error) {
	a := &Authenticator{
		path: path, now: now, log: log, state: stateOf(path), sessions: newSessions(now),
		codes: rate.NewLimiter(codesPerSecond, codesPerSecond), load: load,
	}
	file, err := load(path)
	if err != nil {
		return nil, fmt.Errorf("read auth.file: %w", err)
	}
	a.known.Store(a.directory(file))
	return a, nil
}

func (a *Authenticator) directory(file auth.File) *auth.Directory {
	file.Index()
	return &auth.Directory{File: file, Lookup: a.stored, OpenID: a.provider != nil}
}

// UseTokens makes the tokens of the store prove their principals.
func (a *Authenticator) UseTokens(tokens Tokens) { a.tokens.Store(&tokens) }

// UseClock makes tokens and sessions expire by a corrected clock, so that a token does not live longer where the clock is wrong.
// correct returns the right time when the clock of this process shows now.
func (a *Authenticator) UseClock(correct func(now time.Time) time.Time) { a.clock.Store(&correct) }

// corrected returns the time by which tokens and sessions expire.
func (a *Authenticator) corrected() time.Time {
	if correct := a.clock.Load(); correct != nil {
		return (*correct)(a.now())
	}
	return a.now()
}

// stored finds a token of the store.
func (a *Authenticator) stored(id string) (*auth.Token, error) {
	from := a.tokens.Load()
	if from == nil {
		return nil, nil
	}
	token, heard := (*from).Token(id)
	if a.now().Sub(heard) > tokensOutage { // both readings are monotonic: a clock that is set does not count
		return nil, auth.ErrStale
	}
	return token, nil
}

// Mistake returns why the file on the disk is not in force; nil if it is.
func (a *Authenticator) Mistake() *Mistake { return a.mistake.Load() }

// Run reads the file again after each change, until ctx ends.
func (a *Authenticator) Run(ctx context.Context) error {
	loop.Every(ctx, poll, func(context.Context) {
		state := stateOf(a.path)
		changed := state != a.state
		if changed || a.unread {
			a.state = state
			a.reload(changed)
		}
	})
	return nil
}

// reload reads the file. changed reports whether it has changed since the last read.
func (a *Authenticator) reload(changed bool) {
	file, err := a.load(a.path)
	a.unread = config.IsUnread(err)
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		wrong := &Mistake{Text: first, Since: a.now().UTC()}
		last := a.mistake.Load()
		if last != nil {
			wrong.Since = last.Since
		}
		a.mistake.Store(wrong)
		if !changed && last != nil && last.Text == wrong.Text {
			return
		}
		a.log.Error("auth.file has mistakes: the last good one stays in force", "path", a.path, "err", err)
		return
	}
	a.known.Store(a.directory(file))
	a.mistake.Store(nil)
	a.log.Info("auth.file was read", "path", a.path, "tokens", len(file.Tokens), "bindings", len(file.Bindings))
}

var errTwo = errors.New("the request proves two different principals")

// ByToken returns the caller that the text of a token proves.
func (a *Authenticator) ByToken(ctx context.Context, text string) (auth.Caller, error) {
	if a.provider != nil && isJWT(text) {
		return a.byProvider(ctx, text)
	}
	return a.known.Load().ByToken(text, a.corrected())
}

// Authenticate returns the caller of a request. The proof is a token, a certificate or the cookie of a session; without any, the
// caller is anonymous. If the request has two, they must name the same principal. A certificate of a process names none here.
func (a *Authenticator) Authenticate(r *http.Request) (auth.Caller, error) {
	known := a.known.Load()
	var byCertificate auth.Caller
	var certificateErr error
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		shown := r.TLS.PeerCertificates[0]
		byCertificate, certificateErr = known.ByCertificate(shown)
		if a.now().After(shown.NotAfter) { // TLS has checked this when the connection began
			byCertificate, certificateErr = auth.Caller{}, auth.ErrOutdated
		}
	}
	proven, err := a.byHeader(r)
	switch {
	case err != nil && r.Header.Get("Authorization") == "" && !byCertificate.Anonymous() && !byCertificate.Peer():
		return byCertificate, nil // the session of the browser has ended, and its certificate still counts
	case err != nil:
		return auth.Caller{}, err
	case proven.Anonymous():
		return byCertificate, certificateErr
	case !byCertificate.Anonymous() && !byCertificate.Peer() && byCertificate.Principal != proven.Principal:
		return auth.Caller{}, errTwo
	}
	return proven, nil
}

// byHeader returns the caller that a token or a cookie proves; the anonymous one without both.
func (a *Authenticator) byHeader(r *http.Request) (auth.Caller, error) {
	bySession, err := a.bySession(r, api.SessionOf(r))
	header := r.Header.Get("Authorization")
	scheme, text, _ := strings.Cut(header, " ")
	if header == "" || strings.HasPrefix(header, api.SessionScheme) {
		return bySession, err
	}
	if !strings.EqualFold(scheme, "Bearer") { // RFC 9110: the case of a scheme does not count
		return auth.Caller{}, auth.ErrToken
	}
	byToken, err := a.ByToken(r.Context(), text)
	if err == nil && !bySession.Anonymous() && bySession.Principal != byToken.Principal {
		return auth.Caller{}, errTwo
	}
	return byToken, err
}
