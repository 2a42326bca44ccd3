package backend

import (
	"context"
	"errors"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// contested is a store with one token, which another client removes before the first deletion.
type contested struct{ gone bool }

func (c *contested) Token(context.Context, string) (auth.Token, int64, error) {
	if c.gone {
		return auth.Token{}, 0, job.ErrNotFound
	}
	return auth.Token{}, 7, nil
}

func (c *contested) DeleteToken(context.Context, string, int64) error {
	c.gone = true
	return job.ErrConflict
}

func TestTwoRevocationsAtOnceBothSucceed(t *testing.T) {
	t.Parallel()
	s := &contested{}
	if err := revoke(t.Context(), s, "k3j2h8w4q9xz"); err != nil {
		t.Errorf("while another client revokes the token: got %v", err)
	}
	if err := revoke(t.Context(), s, "k3j2h8w4q9xz"); !errors.Is(err, job.ErrNotFound) {
		t.Errorf("after that: got %v, want job.ErrNotFound", err)
	}
}
