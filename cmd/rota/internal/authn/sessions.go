package authn

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store"
)

// Store keeps the sessions of browsers. Any replica can end a session.
type Store interface {
	PutSession(ctx context.Context, id string, v auth.Session) error
	PutCode(ctx context.Context, id string, v auth.Session) error
	Session(ctx context.Context, id string) (store.StoredSession, error)
	TouchSession(ctx context.Context, id string, v store.StoredSession, used time.Time) error
	DeleteSession(ctx context.Context, id string) error
	RedeemCode(ctx context.Context, code, session string, begin func(auth.Session) auth.Session) error
}

// The limits of the look-up of sessions.
const (
	// sessionFresh is how long a session counts without another look into the store. Within this time, a session that another
	// replica has ended is still valid here.
	sessionFresh = time.Second
	// sessionOutage is how long a known session counts while the store does not answer.
	sessionOutage  = 10 * time.Minute
	sessionTimeout = 2 * time.Second
	// strangersPerSecond bounds the look-ups of unknown cookies, so that nobody can load the store with invented ones.
	strangersPerSecond = 100
	maxSessions        = 10_000 // that one process remembers
)

// The reasons why a session cannot be checked. It may be valid.
var (
	errNoStore   = fmt.Errorf("%w: sessions cannot be checked: the store is not there yet", api.ErrUnavailable)
	errStrangers = fmt.Errorf("%w: too many unknown sessions were presented", api.ErrUnavailable)
)

// sessions finds the callers of browsers that signed in.
type sessions struct {
	now       func() time.Time
	strangers *rate.Limiter

	mu    sync.Mutex
	store Store                    // guarded by mu; nil until UseStore
	known map[string]*knownSession // guarded by mu
}

// knownSession is a session and the time at which the store confirmed it.
type knownSession struct {
	store.StoredSession
	at time.Time
}

func newSessions(now func() time.Time) *sessions {
	return &sessions{
		now: now, strangers: rate.NewLimiter(strangersPerSecond, strangersPerSecond), known: map[string]*knownSession{},
	}
}

// UseStore makes sessions possible. Until it is called, browsers cannot sign in.
func (a *Authenticator) UseStore(s Store) {
	a.sessions.mu.Lock()
	defer a.sessions.mu.Unlock()
	a.sessions.store = s
}

// find returns the session with a key. right is the corrected time, which records have; the own clock measures spans.
func (s *sessions) find(ctx context.Context, key auth.Key, right time.Time) (auth.Session, error) {
	id, ok := key.Hash()
	if !ok {
		return auth.Session{}, auth.ErrSession
	}
	now := s.now()
	s.mu.Lock()
	from, known := s.store, s.known[id]
	s.mu.Unlock()
	switch {
	case known != nil && now.Sub(known.at) < sessionFresh:
		return known.Session, nil
	case from == nil:
		return auth.Session{}, errNoStore
	case known == nil && !s.strangers.AllowN(now, 1):
		return auth.Session{}, errStrangers
	}
	ctx, cancel := context.WithTimeout(ctx, sessionTimeout)
	defer cancel()
	found, err := from.Session(ctx, id)
	switch {
	case errors.Is(err, job.ErrNotFound):
		s.forget(id)
		return auth.Session{}, auth.ErrSession
	case err != nil && known != nil && now.Sub(known.at) < sessionOutage:
		return known.Session, nil
	case err != nil:
		return auth.Session{}, fmt.Errorf("%w: find session: %w", api.ErrUnavailable, err)
	}
	s.remember(id, &knownSession{found, now})
	if right.Sub(found.Used) >= auth.TouchEvery && !found.Expired(right) && !api.IsRecheck(ctx) {
		_ = from.TouchSession(ctx, id, found, right) // if it fails, the next request tries again
	}
	return found.Session, nil
}

func (s *sessions) remember(id string, k *knownSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) >= maxSessions {
		clear(s.known) // the store still has them
	}
	s.known[id] = k
}

func (s *sessions) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, id)
}

func (s *sessions) opened() (Store, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store == nil {
		return nil, errNoStore
	}
	return s.store, nil
}

// SignIn begins a session of a caller and returns its key.
func (a *Authenticator) SignIn(ctx context.Context, c auth.Caller) (auth.Key, error) {
	return a.begin(func(s Store, id string) error {
		return s.PutSession(ctx, id, auth.NewSession(c, a.corrected(), auth.SessionLife))
	})
}

// Code returns a one-time code, with which a browser can begin a session of a caller.
func (a *Authenticator) Code(ctx context.Context, c auth.Caller) (auth.Key, error) {
	return a.begin(func(s Store, id string) error {
		return s.PutCode(ctx, id, auth.NewSession(c, a.corrected(), auth.CodeLife))
	})
}

// Redeem begins a session by a code and returns its key. The error is auth.ErrCode if the code is not valid.
func (a *Authenticator) Redeem(ctx context.Context, code auth.Key) (auth.Key, error) {
	from, ok := code.Hash()
	if !ok || !a.sessions.strangers.AllowN(a.now(), 1) {
		return "", auth.ErrCode
	}
	return a.begin(func(s Store, id string) error {
		err := s.RedeemCode(ctx, from, id, func(v auth.Session) auth.Session { return v.Begin(a.corrected()) })
		if errors.Is(err, job.ErrNotFound) {
			return auth.ErrCode
		}
		return err
	})
}

func (a *Authenticator) begin(put func(s Store, id string) error) (auth.Key, error) {
	s, err := a.sessions.opened()
	if err != nil {
		return "", err
	}
	key, err := auth.NewKey(rand.Reader)
	if err != nil {
		return "", err
	}
	id, _ := key.Hash() // a new key has the form of one
	if err := put(s, id); err != nil {
		return "", err
	}
	return key, nil
}

// SignOut ends a session. The key need not belong to one. Only a session makes it write to the store, so that nobody can load the
// store with invented keys.
func (a *Authenticator) SignOut(ctx context.Context, key auth.Key) error {
	s, err := a.sessions.opened()
	if err != nil {
		return err
	}
	if _, err := a.sessions.find(ctx, key, a.corrected()); errors.Is(err, auth.ErrSession) {
		return nil
	} else if err != nil {
		return err
	}
	id, _ := key.Hash()
	defer a.sessions.forget(id) // also what other requests find in the store meanwhile
	return s.DeleteSession(ctx, id)
}

// bySession returns the caller whose browser sent a cookie; the anonymous one if the request has none.
func (a *Authenticator) bySession(r *http.Request, key auth.Key) (auth.Caller, error) {
	if key == "" {
		return auth.Caller{}, nil
	}
	s, err := a.sessions.find(r.Context(), key, a.corrected())
	if err != nil {
		return auth.Caller{}, err
	}
	return a.known.Load().BySession(&s, a.corrected())
}
