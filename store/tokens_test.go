package store

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func token(id string) auth.Token {
	return auth.Token{ID: id, Hash: strings.Repeat("ab", 32), Principal: "ci", Role: auth.Viewer, Created: epoch}
}

// followingTokens returns a copy of the tokens, which follows the store until the test ends.
func followingTokens(t *testing.T, s *Store) *Tokens {
	t.Helper()
	tokens := NewTokens(s)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = tokens.Follow(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	return tokens
}

func TestTokensAreFollowed(t *testing.T) {
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s, ctx := open(t, c), within(t)
		if err := s.CreateToken(ctx, token("a")); err != nil {
			t.Fatal(err)
		}
		tokens := followingTokens(t, open(t, c))
		known := func(ids ...string) func() bool {
			return func() bool {
				var all []string
				for _, one := range tokens.All() {
					all = append(all, one.ID)
				}
				return strings.Join(all, " ") == strings.Join(ids, " ")
			}
		}
		eventually(t, "the first token is known", known("a"))
		if err := s.CreateToken(ctx, token("a")); !errors.Is(err, job.ErrConflict) && err != nil {
			t.Errorf("the same again: %v", err)
		}
		other := token("a")
		other.Principal = "mallory"
		if err := s.CreateToken(ctx, other); !errors.Is(err, job.ErrConflict) {
			t.Errorf("another with the same id: got %v, want a conflict", err)
		}
		began := time.Now()
		if err := s.CreateToken(ctx, token("b")); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the second token is known", known("a", "b"))
		old, rev, err := s.Token(ctx, "a")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.ReplaceToken(ctx, old, rev-1, token("c")); !errors.Is(err, job.ErrConflict) {
			t.Errorf("rotate a token that has changed: got %v, want a conflict", err)
		}
		old.Expires = epoch.Add(time.Hour)
		if err := s.ReplaceToken(ctx, old, rev, token("c")); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the rotated token is known", known("a", "b", "c"))
		if first, heard := tokens.Token("a"); first == nil || !first.Expires.Equal(epoch.Add(time.Hour)) || heard.IsZero() {
			t.Errorf("the first token: %+v, heard at %v", first, heard)
		}
		if _, rev, err = s.Token(ctx, "b"); err != nil {
			t.Fatal(err)
		}
		if err := s.DeleteToken(ctx, "b", rev); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the removed token is forgotten", known("a", "c"))
		t.Logf("all changes were known after %v", time.Since(began))

		put(t, c, s.keys.record(KindAuth, "tokens/c"), `{"id":"c","principal":"root","role":"admin"}`)
		eventually(t, "a token without a hash proves nobody", known("a"))
		put(t, c, s.keys.record(KindAuth, "tokens/d"), `{"id":"e","sha256":"`+strings.Repeat("ab", 32)+`","principal":"root","role":"admin"}`)
		if _, _, err := s.Token(ctx, "d"); !errors.Is(err, job.ErrUnreadable) {
			t.Errorf("a token under another id: got %v", err)
		}
	})
}
