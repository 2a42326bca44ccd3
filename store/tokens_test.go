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
	"github.com/rota-scheduler/rota/store/mem"
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

// A change of a token is answered as it took place, although another client changes the token between two sendings. No token
// exists again after its removal.
func TestResentChangeOfATokenAfterALaterChange(t *testing.T) {
	revoke := func(ctx context.Context, s *Store, id string) error {
		_, rev, err := s.Token(ctx, id)
		if err != nil {
			return err
		}
		return s.DeleteToken(ctx, id, rev)
	}
	create := func(ctx context.Context, s *Store, id string) error { return s.CreateToken(ctx, token(id)) }
	rotate := func(ctx context.Context, s *Store, _ string) error {
		old, rev, err := s.Token(ctx, "a")
		if err != nil {
			return err
		}
		old.Expires = epoch.Add(time.Hour)
		return s.ReplaceToken(ctx, old, rev, token("b"))
	}
	for name, test := range map[string]struct {
		change, later func(ctx context.Context, s *Store, id string) error
		id            string // the token that later changes
		exists        bool   // that token, at the end
	}{
		"created, and revoked": {create, revoke, "b", false},
		"rotated, and revoked": {rotate, revoke, "b", false},
		"revoked, and created": {revoke, create, "a", true},
	} {
		t.Run(name, func(t *testing.T) {
			var other *Store
			_, s, c := scripted(t, strike(mem.Verdict{Action: mem.Lose}), func(mem.Op) mem.Verdict {
				if err := test.later(context.Background(), other, test.id); err != nil {
					t.Error(err)
				}
				return mem.Verdict{}
			})
			other = open(t, c)
			if err := create(t.Context(), other, "a"); err != nil {
				t.Fatal(err)
			}
			if err := test.change(t.Context(), s, test.id); err != nil {
				t.Errorf("got %v, want the change that took place", err)
			}
			if _, _, err := other.Token(t.Context(), test.id); errors.Is(err, job.ErrNotFound) == test.exists {
				t.Errorf("token %s: %v", test.id, err)
			}
		})
	}
}

// A sending of the creation of a token that etcd applies late has no effect if the token was revoked since.
func TestALateCreationOfATokenHasNoEffect(t *testing.T) {
	srv, s, _ := scripted(t, strike(mem.Verdict{Action: mem.Late}))
	if err := s.CreateToken(t.Context(), token("a")); err != nil {
		t.Fatal(err)
	}
	_, rev, err := s.Token(t.Context(), "a")
	if err == nil {
		err = s.DeleteToken(t.Context(), "a", rev)
	}
	if n := srv.Release(); err != nil || n != 1 {
		t.Fatalf("released %d, want 1 (%v)", n, err)
	}
	if _, _, err := s.Token(t.Context(), "a"); !errors.Is(err, job.ErrNotFound) {
		t.Errorf("the token exists again: %v", err)
	}
}

// A rotation whose first sending was not applied, and whose token was revoked since, never takes place.
func TestARotationThatARevocationOvertook(t *testing.T) {
	var other *Store
	_, s, c := scripted(t, strike(mem.Verdict{Action: mem.Refuse}), func(mem.Op) mem.Verdict {
		_, rev, err := other.Token(context.Background(), "a")
		if err := errors.Join(err, other.DeleteToken(context.Background(), "a", rev)); err != nil {
			t.Error(err)
		}
		return mem.Verdict{}
	})
	other = open(t, c)
	if err := other.CreateToken(t.Context(), token("a")); err != nil {
		t.Fatal(err)
	}
	old, rev, err := other.Token(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.ReplaceToken(t.Context(), old, rev, token("b")); !errors.Is(err, job.ErrConflict) || isUnknown(err) {
		t.Errorf("got %v, want %v", err, job.ErrConflict)
	}
}
