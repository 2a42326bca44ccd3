package api

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

// countingSessions numbers the sessions that it begins.
type countingSessions struct {
	Sessions
	begun int
	err   error
}

func (c *countingSessions) SignIn(context.Context, auth.Caller) (auth.Key, error) {
	c.begun++
	return auth.Key(fmt.Sprint(c.begun)), c.err
}

// Each session is a record with a lease of its own. A program that asks at a Unix socket for the output of runs must not fill the
// store with them.
func TestForwardedRequestsShareASession(t *testing.T) {
	s := Server{forwarded: forwarded{sessions: map[string]forwardedSession{}}}
	from, now := &countingSessions{err: errors.New("no store")}, time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	key := func(principal string) string {
		c := auth.Caller{Identity: auth.Identity{Principal: principal, Method: auth.BySocket}}
		k, _ := s.forwarded.key(t.Context(), c, from, now)
		return string(k)
	}
	if got := key("root"); got != "" {
		t.Errorf("without a store: got %q", got)
	}
	from.err = nil
	for range 100 {
		if got := key("root"); got != "2" {
			t.Fatalf("root: got session %q, want the second", got)
		}
	}
	if got := key("rota"); got != "3" {
		t.Errorf("another user: got session %q", got)
	}
	if now = now.Add(forwardedFor); key("root") != "4" {
		t.Error("the session is used for ever")
	}
}
