package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// tokenFolder begins the name of the record of a token, within KindAuth.
const tokenFolder = "tokens/"

// checkToken checks the record auth/tokens/<id>.
func checkToken(t *auth.Token, name string, _ int64) error {
	id, ok := strings.CutPrefix(name, tokenFolder)
	if !ok {
		return errors.New("no records belong here")
	}
	if raw, err := hex.DecodeString(t.Hash); err != nil || len(raw) != sha256.Size {
		return errors.New("sha256 is no SHA-256 in hexadecimal")
	}
	if t.Principal == "" {
		return errors.New("it has no principal")
	}
	if t.Role != "" && !slices.Contains(auth.Roles(), t.Role) {
		return fmt.Errorf("role %.40q is not known", t.Role)
	}
	for _, pattern := range t.Jobs {
		if _, err := path.Match(pattern, ""); err != nil {
			return fmt.Errorf("jobs: %.80q is no pattern", pattern)
		}
	}
	return same("id", t.ID, id)
}

// Token reads a token. The error is job.ErrNotFound if there is none.
func (s *Store) Token(ctx context.Context, id string) (auth.Token, int64, error) {
	return get[auth.Token](ctx, s, KindAuth, tokenFolder+id)
}

// CreateToken writes a token. The error is job.ErrConflict if there is a token with this id.
func (s *Store) CreateToken(ctx context.Context, t auth.Token) error {
	w := s.writeOf(KindAuth, tokenFolder+t.ID)
	if err := w.put(s.keys.record(KindAuth, tokenFolder+t.ID), 0, t); err != nil {
		return err
	}
	w.refuseTombstone(s.keys.tombstone(KindAuth, tokenFolder+t.ID))
	if _, err := s.exactly(ctx, w); err != nil {
		return fmt.Errorf("create token %s: %w", t.ID, err)
	}
	return nil
}

// ReplaceToken writes the token next and changes the token old, which is at revision rev, in one transaction. The error is
// job.ErrConflict if old has changed, or if there is a token with the id of next.
func (s *Store) ReplaceToken(ctx context.Context, old auth.Token, rev int64, next auth.Token) error {
	w := s.writeOf(KindAuth, tokenFolder+old.ID)
	if err := w.put(s.keys.record(KindAuth, tokenFolder+next.ID), 0, next); err != nil {
		return err
	}
	if err := w.put(s.keys.record(KindAuth, tokenFolder+old.ID), rev, old); err != nil {
		return err
	}
	if _, err := s.exactly(ctx, w); err != nil {
		return fmt.Errorf("rotate token %s: %w", old.ID, err)
	}
	return nil
}

// DeleteToken removes a token at revision rev. The error is job.ErrConflict if the token has changed, or another client has removed
// it.
func (s *Store) DeleteToken(ctx context.Context, id string, rev int64) error {
	return s.remove(ctx, KindAuth, tokenFolder+id, rev)
}

// Tokens is a copy of all tokens in memory, fed by a watch of its own. So workers, which have no Mirror, have it too. A look-up
// takes the same time with many tokens as with few.
type Tokens struct {
	store *Store

	mu     sync.RWMutex
	known  map[string]*auth.Token // guarded by mu; nil before the first list
	heard  time.Time              // guarded by mu: the copy has every change that the store had at this instant
	staged map[string]*auth.Token // owned by Follow: the list that is being read
}

// NewTokens returns an empty copy, which Follow fills.
func NewTokens(s *Store) *Tokens { return &Tokens{store: s} }

// Follow keeps the copy current until ctx ends, and returns the cause of that.
func (t *Tokens) Follow(ctx context.Context) error {
	return t.store.follow(ctx, t.prefix(), follower{
		begin: func() { t.staged = map[string]*auth.Token{} },
		page: func(kvs []*mvccpb.KeyValue) {
			for _, kv := range kvs {
				t.set(t.staged, kv)
			}
		},
		reset: func(int64) {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.known, t.staged = t.staged, nil
		},
		consumer: consumer{
			apply: func(_ int64, events []*clientv3.Event) {
				t.mu.Lock()
				defer t.mu.Unlock()
				for _, ev := range events {
					t.set(t.known, ev.Kv)
				}
			},
			current: func(at time.Time) {
				t.mu.Lock()
				defer t.mu.Unlock()
				t.heard = job.Later(t.heard, at)
			},
		},
	})
}

func (t *Tokens) prefix() string { return t.store.keys.family(KindAuth) + tokenFolder }

// set takes over the state of a key. A deleted key has no value. An unreadable record proves nobody.
func (t *Tokens) set(known map[string]*auth.Token, kv *mvccpb.KeyValue) {
	id := strings.TrimPrefix(string(kv.Key), t.prefix())
	if token := job.ValueOf[auth.Token](decode(KindAuth, tokenFolder+id, kv.Value, kv.ModRevision)); token != nil {
		known[id] = token
		return
	}
	delete(known, id)
}

// Token returns the token with an id, nil if there is none. At the instant heard, the answer was right.
func (t *Tokens) Token(id string) (token *auth.Token, heard time.Time) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.known[id], t.heard
}

// All returns all tokens, in the order of their ids.
func (t *Tokens) All() []auth.Token {
	t.mu.RLock()
	defer t.mu.RUnlock()
	all := make([]auth.Token, 0, len(t.known))
	for _, token := range t.known {
		all = append(all, *token)
	}
	slices.SortFunc(all, func(a, b auth.Token) int { return strings.Compare(a.ID, b.ID) })
	return all
}
