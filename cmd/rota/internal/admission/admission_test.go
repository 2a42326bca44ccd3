package admission

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/store"
)

// stranger is the store of another cluster.
type stranger struct {
	Store
	seen     store.Observation
	observed func()
	err      error
}

func (s *stranger) Observe(context.Context, string) (store.Observation, error) {
	s.observed()
	return s.seen, s.err
}

func (s *stranger) Reached() int64 { return s.seen.Revision }

// TestAProcessForgetsAStoreThatWasNotAccepted starts a process with the endpoints of another cluster, and then with the right ones.
func TestAProcessForgetsAStoreThatWasNotAccepted(t *testing.T) {
	m, err := OpenMemory(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	known := store.Observation{Cluster: "a", Revision: 100}
	if err := m.Keep(known); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	g := New(m, hclog.NewNullLogger())
	other := &stranger{seen: store.Observation{Cluster: "b", Revision: 5000}, observed: stop}
	if err := g.Admit(ctx, other, goOn); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want the process to wait until it is stopped", err)
	}
	if g.Restored() == nil {
		t.Fatal("the other store was not noticed")
	}
	g.RememberLast()
	if m.Last() != known {
		t.Errorf("got %+v, want %+v", m.Last(), known)
	}
	if err := (store.Observation{Cluster: "a", Revision: 101}).After(m.Last()); err != nil {
		t.Errorf("back at its own store: %v", err)
	}
}

func goOn(error) error { return nil }

// TestAProcessThatWaitsRestartsWithANewPassword fails to read a store whose password was changed.
func TestAProcessThatWaitsRestartsWithANewPassword(t *testing.T) {
	m, err := OpenMemory(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	refused := errors.New("authentication failed")
	restart := errors.New("the password was changed")
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	err = New(m, hclog.NewNullLogger()).Admit(ctx, &stranger{err: refused, observed: func() {}}, func(err error) error {
		if errors.Is(err, refused) {
			return restart
		}
		return nil
	})
	if !errors.Is(err, restart) {
		t.Errorf("got %v, want %v", err, restart)
	}
}
