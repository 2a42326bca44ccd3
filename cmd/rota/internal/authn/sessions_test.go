package authn_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/cmd/rota/internal/authn"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/store"
	"github.com/rota-scheduler/rota/store/mem"
)

// outage is a store that counts the look-ups of sessions, and does not answer while it is down.
type outage struct {
	authn.Store
	down  atomic.Bool
	looks atomic.Int64
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
	r := request(t, "", "")
	r.AddCookie(&http.Cookie{Name: "rota-session", Value: string(key)})
	c, err := e.Authenticate(r)
	return err == nil && c.Principal == "bob" && c.Method == auth.BySession && c.May(auth.Operate, auth.Object{})
}

// replicas returns the Authenticators of two replicas of one cluster, in which bob is an operator.
func replicas(t *testing.T) (a, b *entrance) {
	t.Helper()
	server := mem.New(mem.Config{})
	t.Cleanup(func() { _ = server.Close() })
	path := filepath.Join(t.TempDir(), "auth.yaml")
	if err := os.WriteFile(path, []byte("bindings: [{principal: bob, role: operator}]"), 0o600); err != nil {
		t.Fatal(err)
	}
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
