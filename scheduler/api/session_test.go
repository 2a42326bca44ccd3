package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

// countingSessions numbers the sessions that it begins, and knows those that have ended.
type countingSessions struct {
	Sessions
	begun int
	err   error
	ended map[auth.Key]bool
}

func (c *countingSessions) SignIn(context.Context, auth.Caller) (auth.Key, error) {
	c.begun++
	return auth.Key(fmt.Sprint(c.begun)), c.err
}

func (c *countingSessions) Authenticate(r *http.Request) (auth.Caller, error) {
	if c.ended[SessionOf(r)] {
		return auth.Caller{}, auth.ErrSession
	}
	return auth.Caller{}, nil
}

// Each session is a record with a lease of its own. A program that asks at a Unix socket for the output of runs must not fill the
// store with them. If an administrator ends the session, the next request begins another one.
func TestForwardedRequestsShareASession(t *testing.T) {
	from := &countingSessions{err: errors.New("no store"), ended: map[auth.Key]bool{}}
	s := New(Config{Auth: from, Sessions: from}, Backend{}, hclog.NewNullLogger())
	proof := func(principal string) string {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		return s.proofOf(r, auth.Caller{Identity: auth.Identity{Principal: principal, Method: auth.BySocket}})
	}
	if got := proof("root"); got != "" {
		t.Errorf("without a store: got %q", got)
	}
	from.err = nil
	for range 100 {
		if got := proof("root"); got != SessionScheme+"2" {
			t.Fatalf("root: got %q, want the second session", got)
		}
	}
	if got := proof("rota"); got != SessionScheme+"3" {
		t.Errorf("another user: got %q", got)
	}
	from.ended["2"] = true
	if got := proof("root"); got != SessionScheme+"4" {
		t.Errorf("after the end of the session: got %q", got)
	}
}
