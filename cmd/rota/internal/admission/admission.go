package admission

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/cmd/rota/internal/failure"
	"github.com/rota-scheduler/rota/cmd/rota/internal/loop"
	"github.com/rota-scheduler/rota/store"
)

// Store says how far it has come, and whether it has gone back.
type Store interface {
	Observe(ctx context.Context, jobName string) (store.Observation, error)
	Accept(ctx context.Context, known store.Observation, now time.Time, by string) (store.Observation, error)
	ResetReached(seen store.Observation)
	Reached() int64
}

// Gatekeeper decides whether this process may use the store.
type Gatekeeper struct {
	memory *Memory
	log    hclog.Logger
	store  Store // set by Admit

	// Cursor returns the job and the revision of the cursor that was written last. A store is recognised by it that was restored
	// and has come further since. Nil for a worker, which is given nothing while the replicas wait.
	Cursor func() (job string, rev int64)

	restored atomic.Pointer[store.RestoredError] // nil unless a restored store waits to be accepted
}

// The pace at which the store is checked, and of the log.
const (
	watchEvery    = 5 * time.Second // while the process works
	acceptEvery   = time.Second     // while the process waits until a restored store is accepted
	complainEvery = time.Minute     // between two log lines that it waits
)

// New returns a Gatekeeper that remembers in m.
func New(m *Memory, log hclog.Logger) *Gatekeeper { return &Gatekeeper{memory: m, log: log} }

// Admit returns once s is the store that this process used before, or an operator has accepted it instead. The process must
// change nothing in the store until then.
func (g *Gatekeeper) Admit(ctx context.Context, s Store) error {
	g.store = s
	var logged time.Time
	for {
		known := g.memory.Last()
		seen, err := s.Observe(ctx, known.Job)
		if err == nil {
			if err = seen.After(known); err == nil {
				g.restored.Store(nil)
				if !logged.IsZero() {
					g.log.Warn("the restored store is accepted", "era", seen.Era, "revision", seen.Revision)
				}
				seen.Era = max(seen.Era, 0)
				s.ResetReached(seen)
				g.keep(seen)
				return nil
			}
		}
		var restored *store.RestoredError
		switch now := time.Now(); {
		case errors.As(err, &restored):
			g.hold(restored)
			g.restored.Store(restored)
			if now.Sub(logged) > complainEvery {
				logged = now
				g.log.Error("this process neither leads nor works until the store is accepted: `rota accept-restored-store`",
					"reason", restored, "known", restored.Before, "now", restored.Now, "file", g.memory.path)
			}
		case ctx.Err() == nil:
			g.log.Warn("the store does not say what it is", "err", failure.Short(err))
		}
		if loop.Pause(ctx, acceptEvery); ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// Watch remembers how far the store has come, until ctx ends. It returns an error if the store has gone back, or if fatal returns
// one for an error of the store. The process has to restart then.
func (g *Gatekeeper) Watch(ctx context.Context, fatal func(error) error) error {
	for {
		if loop.Pause(ctx, watchEvery); ctx.Err() != nil {
			return nil
		}
		known := g.memory.Last()
		known.Revision = max(known.Revision, g.store.Reached()) // including what came since the last check
		seen, err := g.store.Observe(ctx, known.Job)
		if err != nil {
			if err := fatal(err); err != nil {
				return err
			}
			continue // other parts of the process report it
		}
		same := seen
		same.Era = known.Era // an operator may have accepted a restored store, but this process has not seen the old one end
		if err := same.After(known); err != nil {
			if restored, ok := errors.AsType[*store.RestoredError](err); ok {
				g.hold(restored)
			}
			return err
		}
		seen.Era = max(seen.Era, known.Era) // a lower one was written by hand; the record is reported as what it is
		g.keep(g.withCursor(seen))
	}
}

// RememberLast remembers how far the store had come when the process stops.
func (g *Gatekeeper) RememberLast() {
	seen := g.memory.Last()
	if seen.Revision == 0 { // never admitted
		return
	}
	seen.Revision = max(seen.Revision, g.store.Reached())
	g.keep(g.withCursor(seen))
}

// Restored returns the restored store that waits to be accepted, nil if there is none.
func (g *Gatekeeper) Restored() *store.RestoredError { return g.restored.Load() }

// Accept accepts the restored store for this process and all others that wait. It has to wait: see Restored.
func (g *Gatekeeper) Accept(ctx context.Context, now time.Time, by string) (store.Observation, error) {
	seen, err := g.store.Accept(ctx, g.memory.Last(), now, by)
	if err == nil {
		g.log.Warn("the restored store was accepted", "by", by, "era", seen.Era)
	}
	return seen, err
}

// hold makes this process wait, now and whenever it starts again, however far the store goes on meanwhile.
func (g *Gatekeeper) hold(restored *store.RestoredError) {
	if held := restored.Remember(); held != g.memory.Last() {
		g.keep(held)
	}
}

// withCursor returns seen with the cursor that was written last.
func (g *Gatekeeper) withCursor(seen store.Observation) store.Observation {
	if g.Cursor != nil {
		if job, rev := g.Cursor(); rev > seen.Cursor {
			seen.Job, seen.Cursor = job, rev
		}
	}
	return seen
}

// keep remembers seen, if the disk allows it. Otherwise the process goes on.
func (g *Gatekeeper) keep(seen store.Observation) {
	if err := g.memory.Keep(seen); err != nil {
		g.log.Error("a restored store may not be recognised", "err", err)
	}
}
