package authn_test

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/cmd/rota/internal/authn"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/store"
	"github.com/rota-scheduler/rota/store/mem"
	"github.com/rota-scheduler/rota/test/files"
)

// outage is a store that counts the look-ups of sessions, and does not answer while it is down.
type outage struct {
	authn.Store
	down  atomic.Bool
	looks atomic.Int64
	ended atomic.Int64
}

func (o *outage) DeleteSession(ctx context.Context, id string) error {
	o.ended.Add(1)
	return o.Store.DeleteSession(ctx, id)
}

func (o *outage) Session(ctx context.Context, id string) (store.StoredSession, error) {
	o.looks.Add(1)
	if o.down.Load() {
		return store.StoredSession{}, errors.New("down")
	}
	return o.Store.Session(ctx, id)
}

// entrance is an Authenticator of one replica, with a clock that the test sets.
type entrance struct {
	*authn.Authenticator
	store *outage
	now   atomic.Pointer[time.Time]
}

func (e *entrance) advance(d time.Duration) {
	now := e.now.Load().Add(d)
	e.now.Store(&now)
}

func (e *entrance) knows(t *testing.T, key auth.Key) bool {
	t.Helper()
	c, err := e.authenticate(t, key)
	return err == nil && c.Principal == "bob" && c.Method == auth.BySession && c.May(auth.Operate, auth.Object{})
}

// authenticate authenticates a browser with a session.
func (e *entrance) authenticate(t *testing.T, key auth.Key) (auth.Caller, error) {
	t.Helper()
	r := request(t, "", "")
	r.AddCookie(&http.Cookie{Name: "rota-session", Value: string(key)})
	return e.Authenticate(r)
}

// replicas returns the Authenticators of two replicas of one cluster, in which bob is an operator.
func replicas(t *testing.T) (a, b *entrance) {
	t.Helper()
	server := mem.New(mem.Config{})
	t.Cleanup(func() { _ = server.Close() })
	path := files.Write(t, filepath.Join(t.TempDir(), "auth.yaml"), "bindings: [{principal: bob, role: operator}]")
	start := time.Now()
	open := func(name string) *entrance {
		s := store.New(store.Config{Prefix: "/rota", Process: name}, server.Client(), hclog.NewNullLogger())
		t.Cleanup(s.Close)
		e := &entrance{store: &outage{Store: s}}
		e.now.Store(&start)
		var err error
		if e.Authenticator, err = authn.Open(path, func() time.Time { return *e.now.Load() }, hclog.NewNullLogger()); err != nil {
			t.Fatal(err)
		}
		return e
	}
	return open("a"), open("b")
}

var bob = auth.Caller{Identity: auth.Identity{Principal: "bob", Method: auth.ByCertificate}}

func TestASessionCountsAtEveryReplicaUntilItEnds(t *testing.T) {
	a, b := replicas(t)
	if _, err := a.SignIn(t.Context(), bob); err == nil {
		t.Error("a browser signs in before there is a store")
	}
	a.UseStore(a.store)
	b.UseStore(b.store)
	key, err := a.SignIn(t.Context(), bob)
	if err != nil {
		t.Fatal(err)
	}
	if !a.knows(t, key) || !b.knows(t, key) || a.knows(t, "") || a.knows(t, key[1:]+"x") {
		t.Fatal("the session of bob is not the one that counts")
	}
	before := b.store.looks.Load()
	for range 100 {
		b.knows(t, key)
	}
	if looked := b.store.looks.Load() - before; looked != 0 {
		t.Errorf("%d look-ups for requests within a second, want none", looked)
	}
	if err := a.SignOut(t.Context(), key[1:]+"x"); err != nil || a.store.ended.Load() != 0 {
		t.Errorf("an invented key: got %v and %d writes to the store, want none", err, a.store.ended.Load())
	}
	if err := a.SignOut(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	b.advance(2 * time.Second)
	if a.knows(t, key) || b.knows(t, key) {
		t.Error("the session counts after its end")
	}
}

func TestASessionEndsByItsAgeAndWhenNobodyUsesIt(t *testing.T) {
	a, _ := replicas(t)
	a.UseStore(a.store)
	sign := func() auth.Key {
		key, err := a.SignIn(t.Context(), bob)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	idle, used := sign(), sign()
	for range 3 {
		a.advance(20 * time.Minute)
		if !a.knows(t, used) {
			t.Fatal("a session that is used every 20 minutes ends")
		}
	}
	if a.knows(t, idle) {
		t.Error("a session counts that nobody used for an hour")
	}
	for range 23 {
		a.advance(20 * time.Minute)
		a.knows(t, used)
	}
	if a.knows(t, used) {
		t.Error("a session counts after eight hours")
	}
}

// A session can make a code for another browser. The session that the code begins must not outlive the first one: otherwise a copied
// cookie would count without end.
func TestASessionDoesNotProlongItself(t *testing.T) {
	a, _ := replicas(t)
	a.UseStore(a.store)
	key, err := a.SignIn(t.Context(), bob)
	if err != nil {
		t.Fatal(err)
	}
	renew := func() {
		t.Helper()
		r := request(t, "", "")
		r.AddCookie(&http.Cookie{Name: "rota-session", Value: string(key)})
		c, err := a.Authenticate(r)
		if err != nil {
			t.Fatal(err)
		}
		code, err := a.Code(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if key, err = a.Redeem(t.Context(), code); err != nil {
			t.Fatal(err)
		}
	}
	for range 23 {
		a.advance(20 * time.Minute)
		renew()
	}
	if !a.knows(t, key) {
		t.Fatal("the session has ended too early")
	}
	a.advance(20 * time.Minute)
	if a.knows(t, key) {
		t.Error("a session counts after eight hours")
	}
}

// The clock of one replica is an hour ahead. A session that it begins, or whose use it records, must not live longer for that.
func TestAWrongClockDoesNotKeepASessionAlive(t *testing.T) {
	a, b := replicas(t)
	a.UseStore(a.store)
	b.UseStore(b.store)
	a.advance(time.Hour)
	a.UseClock(func(now time.Time) time.Time { return now.Add(-time.Hour) })
	key, err := a.SignIn(t.Context(), bob)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		a.advance(10 * time.Minute)
		b.advance(10 * time.Minute)
		if !a.knows(t, key) {
			t.Fatal("the session has ended too early")
		}
	}
	b.advance(auth.SessionIdle + time.Minute)
	if b.knows(t, key) {
		t.Error("nobody has used the session, and it counts")
	}
	if key, err = a.SignIn(t.Context(), bob); err != nil {
		t.Fatal(err)
	}
	b.advance(-auth.SessionIdle - time.Minute)
	if !b.knows(t, key) {
		t.Error("a new session does not count at the other replica")
	}
}

func TestWithoutTheStoreOnlyKnownSessionsCount(t *testing.T) {
	a, b := replicas(t)
	a.UseStore(a.store)
	b.UseStore(b.store)
	key, err := a.SignIn(t.Context(), bob)
	if err != nil || !a.knows(t, key) {
		t.Fatal(err)
	}
	a.store.down.Store(true)
	b.store.down.Store(true)
	a.advance(9 * time.Minute)
	if !a.knows(t, key) || b.knows(t, key) {
		t.Error("during an outage, a replica must accept the sessions that it knows and no others")
	}
	if _, err := b.authenticate(t, key); !errors.Is(err, api.ErrUnavailable) {
		t.Errorf("a session that cannot be checked: got %v, want an error of the store", err)
	}
	a.advance(2 * time.Minute)
	if a.knows(t, key) {
		t.Error("a session that was not confirmed for eleven minutes counts")
	}
	for range 1000 {
		invented, err := auth.NewKey(zeros{})
		if err != nil || b.knows(t, invented) {
			t.Fatal("an invented session counts")
		}
	}
	if looks := b.store.looks.Load(); looks > 300 {
		t.Errorf("1000 invented cookies cost %d look-ups", looks)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }
