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

// Store is the part of the store that admission uses: the store's identity and its revision.
type Store interface {
	Observe(ctx context.Context, jobName string) (store.Observation, error)
	Accept(ctx context.Context, known store.Observation, now time.Time, by string) (store.Observation, error)
	Settle(ctx context.Context, era int64, now time.Time) error
	ResetReached(seen store.Observation)
	Reached() int64
	WentBack() int64
}

// Gatekeeper decides whether this process may use the store.
type Gatekeeper struct {
	memory *Memory
	log    hclog.Logger
	store  Store // set by Admit

	// Cursor returns the cursor that was written last: its job and its revision. With it, admission detects a restored store whose
	// revision is already higher than before the restore. It is nil for a worker, which gets no runs while the replicas wait.
	Cursor func() (job string, rev int64)

	restored atomic.Pointer[store.RestoredError] // the restored store that waits to be accepted; nil if none waits
	admitted atomic.Bool                         // this process may use the store
}

// The intervals of the checks of the store and of the log lines.
const (
	watchEvery    = 5 * time.Second // while the process works
	acceptEvery   = time.Second     // while the process waits until a restored store is accepted
	complainEvery = time.Minute     // between two log lines while the process waits
)

// New returns a Gatekeeper that records the used store in m.
func New(m *Memory, log hclog.Logger) *Gatekeeper { return &Gatekeeper{memory: m, log: log} }

// Admit returns when this process may use s. It returns at once if s is the store that the process used before. Otherwise it
// waits until an operator accepts s. Before Admit returns, the process must not write to the store. Admit returns an error if fatal
// returns one for an error of the store. Then the process must restart.
func (g *Gatekeeper) Admit(ctx context.Context, s Store, fatal func(error) error) error {
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
				g.admitted.Store(true)
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
			if err := fatal(err); err != nil {
				return err
			}
			g.log.Warn("the identity of the store could not be read", "err", failure.Short(err))
		}
		if loop.Pause(ctx, acceptEvery); ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// Watch records the revision of the store every few seconds until ctx ends. It returns an error if the revision has gone back. It
// also returns an error if fatal returns one for an error of the store. After an error, the process must restart.
func (g *Gatekeeper) Watch(ctx context.Context, fatal func(error) error) error {
	for {
		if loop.Pause(ctx, watchEvery); ctx.Err() != nil {
			return nil
		}
		known := g.memory.Last()
		known.Revision = max(known.Revision, g.store.Reached()) // includes the revisions since the last check
		seen, err := g.store.Observe(ctx, known.Job)
		if err != nil {
			if err := fatal(err); err != nil {
				return err
			}
			continue // other parts of the process report this error
		}
		same := seen
		if at := g.store.WentBack(); at != 0 { // its revision may have risen again
			same.Revision = min(same.Revision, at)
		}
		same.Era = known.Era // only Admit may accept a new era: this process still uses the store of the old one
		if err := same.After(known); err != nil {
			if restored, ok := errors.AsType[*store.RestoredError](err); ok {
				g.hold(restored)
			}
			return err
		}
		if seen.Origin == "" {
			if err := g.store.Settle(ctx, known.Era, time.Now()); err != nil { // tried again in the next round
				g.log.Debug("the cluster of the store was not recorded", "err", failure.Short(err))
			}
		}
		seen.Era = max(seen.Era, known.Era) // a lower era can only be written by hand; other checks report it
		g.keep(g.withCursor(seen))
	}
}

// RememberLast records the last known revision of the store, if Admit has admitted this process. Otherwise that may be the revision
// of another store. Call it when the process stops.
func (g *Gatekeeper) RememberLast() {
	if !g.admitted.Load() {
		return
	}
	seen := g.memory.Last()
	seen.Revision = max(seen.Revision, g.store.Reached())
	g.keep(g.withCursor(seen))
}

// Restored returns the restored store that waits for its acceptance; nil if there is none.
func (g *Gatekeeper) Restored() *store.RestoredError { return g.restored.Load() }

// Accept accepts the restored store for this process and for all others that wait. Call it only while Restored is not nil.
func (g *Gatekeeper) Accept(ctx context.Context, now time.Time, by string) (store.Observation, error) {
	seen, err := g.store.Accept(ctx, g.memory.Last(), now, by)
	if err == nil {
		g.log.Warn("the restored store was accepted", "by", by, "era", seen.Era)
	}
	return seen, err
}

// hold records that this process waits for the acceptance of its store. The record is kept over a restart. So the process still
// waits if the store has a higher revision by then. Data of another cluster needs no record: the store has it.
func (g *Gatekeeper) hold(restored *store.RestoredError) {
	if held := restored.Remember(); held.Revision > 0 && held != g.memory.Last() {
		g.keep(held)
	}
}

// withCursor returns seen with the last written cursor added.
func (g *Gatekeeper) withCursor(seen store.Observation) store.Observation {
	if g.Cursor != nil {
		if job, rev := g.Cursor(); rev > seen.Cursor {
			seen.Job, seen.Cursor = job, rev
		}
	}
	return seen
}

// keep records seen in the memory. If the disk fails, it logs the error, and the process continues.
func (g *Gatekeeper) keep(seen store.Observation) {
	if err := g.memory.Keep(seen); err != nil {
		g.log.Error("store.json was not written; a restored store may stay undetected", "err", err)
	}
}
