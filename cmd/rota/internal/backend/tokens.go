package backend

import (
	"context"
	"errors"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/loop"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store"
)

// Tokens returns the tokens in the store.
func (b *Backend) Tokens(context.Context) ([]auth.Token, error) {
	if err := b.up(); err != nil {
		return nil, err
	}
	return b.tokens.All(), nil
}

// CreateToken stores a token.
func (b *Backend) CreateToken(ctx context.Context, t auth.Token) error {
	if err := b.up(); err != nil {
		return err
	}
	// Without a majority, this read fails earlier than the write, and without an unknown result.
	if _, _, err := b.store.Token(ctx, t.ID); err != nil && !errors.Is(err, job.ErrNotFound) {
		return storeError(err)
	}
	if err := b.store.CreateToken(ctx, t); err != nil {
		return storeError(err)
	}
	b.shownToken(ctx, t.ID, true)
	return nil
}

// RotateToken stores a token with the rights of another one, which expires after the overlap. If the old token expires, the new one
// has the same life from now on.
func (b *Backend) RotateToken(ctx context.Context, id string, next auth.Token, overlap time.Duration) (auth.Token, error) {
	if err := b.up(); err != nil {
		return auth.Token{}, err
	}
	old, rev, err := b.store.Token(ctx, id)
	if err != nil {
		return auth.Token{}, storeError(err)
	}
	old, next = old.Rotate(next, overlap)
	if err := b.store.ReplaceToken(ctx, old, rev, next); err != nil {
		return auth.Token{}, storeError(err)
	}
	b.shownToken(ctx, next.ID, true)
	return next, nil
}

// RevokeToken removes a token. If another client changes the token at the same time, RevokeToken removes the changed one. If
// another client removes it at the same time, both succeed.
func (b *Backend) RevokeToken(ctx context.Context, id string) error {
	if err := b.up(); err != nil {
		return err
	}
	if err := revoke(ctx, b.store, id); err != nil {
		return err
	}
	b.shownToken(ctx, id, false)
	return nil
}

// revoker removes a token in the store.
type revoker interface {
	Token(ctx context.Context, id string) (auth.Token, int64, error) // the revision is not 0 if there is a record, readable or not
	DeleteToken(ctx context.Context, id string, rev int64) error
}

func revoke(ctx context.Context, s revoker, id string) error {
	found := false
	_, err := store.Edit(ctx,
		func(ctx context.Context) (int64, error) {
			_, rev, err := s.Token(ctx, id)
			switch {
			case rev != 0: // an unreadable token can be revoked
				found = true
				return rev, nil
			case found && errors.Is(err, job.ErrNotFound): // another client has removed it since
				return 0, nil
			}
			return 0, storeError(err)
		},
		func(rev int64) (int64, bool, error) { return rev, rev != 0, nil },
		func(ctx context.Context, rev int64) (int64, error) {
			return rev, storeError(s.DeleteToken(ctx, id, rev))
		})
	return err
}

// shownToken waits until this process knows a token, or until it no longer does, so that its client can rely on it. It gives up
// after shownTimeout.
func (b *Backend) shownToken(ctx context.Context, id string, exists bool) {
	waiting, cancel := context.WithTimeout(ctx, shownTimeout)
	defer cancel()
	for waiting.Err() == nil {
		if known, _ := b.tokens.Token(id); (known != nil) == exists {
			return
		}
		loop.Pause(waiting, 10*time.Millisecond)
	}
}
