package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/store"
)

// The pace at which a process looks what the store is: while it works, while it waits for a restored one to be accepted, and
// how often it repeats in the log that it does.
const (
	rememberEvery = 5 * time.Second
	acceptEvery   = time.Second
	complainEvery = time.Minute
)

// admit returns once the store is known to be the one that this process saw before, or somebody has accepted it in that
// one's place. Until then this process neither leads nor works, and changes nothing in the store: what it would do goes by
// fencing tokens and cursors that were taken back.
func (n *Node) admit(ctx context.Context) error {
	var said time.Time
	for {
		known := n.memory.known()
		seen, err := n.store.Observe(ctx, known.Job)
		if err == nil {
			if err = seen.After(known); err == nil {
				n.backend.restored.Store(nil)
				if !said.IsZero() {
					n.log.Warn("the restored store is accepted", "era", seen.Era, "revision", seen.Revision)
				}
				seen.Era = max(seen.Era, 0)
				n.store.ResetReached(seen)
				n.keepInMind(seen)
				return nil
			}
		}
		var restored *store.RestoredError
		switch now := time.Now(); {
		case errors.As(err, &restored):
			n.hold(restored)
			n.backend.restored.Store(restored)
			if now.Sub(said) > complainEvery {
				said = now
				n.log.Error("this process neither leads nor works until the store is accepted: `rota accept-restored-store`",
					"reason", restored, "known", restored.Before, "now", restored.Now, "file", n.memory.path)
			}
		case ctx.Err() == nil:
			n.log.Warn("the store does not say what it is", "err", shortError(err))
		}
		if pause(ctx, acceptEvery); ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// remember keeps in mind how far the store has come, until ctx ends. It ends with an error when the store has gone back
// meanwhile, or wants another password: the process has to begin anew, from what is there now.
func (n *Node) remember(ctx context.Context) error {
	for {
		if pause(ctx, rememberEvery); ctx.Err() != nil {
			return nil
		}
		known := n.memory.known()
		known.Revision = max(known.Revision, n.store.Reached()) // also what came since the last look
		seen, err := n.store.Observe(ctx, known.Job)
		if n.rekeyed(err) {
			return errPassword
		}
		if err != nil {
			continue // others tell of it
		}
		same := seen
		same.Era = known.Era // whoever accepted it, we hold what was before
		if err := same.After(known); err != nil {
			var restored *store.RestoredError
			if errors.As(err, &restored) {
				n.hold(restored)
			}
			return err
		}
		if seen.Era < known.Era { // somebody's hand: the record is reported as what it is
			seen.Era = known.Era
		}
		n.keepInMind(n.withCursor(seen))
	}
}

// hold has this process wait, now and whenever it is started again, however far the store goes on meanwhile.
func (n *Node) hold(restored *store.RestoredError) {
	if keep := restored.Remember(); keep != n.memory.known() {
		n.keepInMind(keep)
	}
}

// withCursor is seen with the cursor that was written last, by which a store is recognised that was put back and has come
// further since. Workers have none to look at; they are given nothing while the replicas wait.
func (n *Node) withCursor(seen store.Observation) store.Observation {
	if n.mirror != nil {
		if job, rev := n.mirror.NewestCursor(); rev > seen.Cursor {
			seen.Job, seen.Cursor = job, rev
		}
	}
	return seen
}

// keepInMind remembers seen, if the disk lets us. A process goes on without.
func (n *Node) keepInMind(seen store.Observation) {
	if err := n.memory.keep(seen); err != nil {
		n.log.Error("a restored store may not be recognised", "err", err)
	}
}

// rememberLast keeps how far the store had come when this process was done with it.
func (n *Node) rememberLast() error {
	seen := n.memory.known()
	if seen.Revision == 0 { // never admitted
		return nil
	}
	seen.Revision = max(seen.Revision, n.store.Reached())
	n.keepInMind(n.withCursor(seen))
	return nil
}

// AcceptRestored lets this process and all others that wait go on with the store as it is.
func (b *backend) AcceptRestored(ctx context.Context, by string) (api.RestoredView, error) {
	restored := b.restored.Load()
	if restored == nil {
		return api.RestoredView{}, &api.Refusal{Reason: "there is nothing to accept: this process has not seen a store that is ahead of the present one"}
	}
	n := b.node
	seen, err := n.store.Accept(ctx, n.memory.known(), n.now(), by)
	if err != nil {
		return api.RestoredView{}, asked(err)
	}
	n.log.Warn("the restored store was accepted", "by", by, "era", seen.Era)
	return api.RestoredView{
		Cluster: seen.Cluster, Revision: seen.Revision, Era: seen.Era,
		Lost: max(0, restored.Before.Revision-restored.Now.Revision),
	}, nil
}

// errRestored is the answer while a restored store waits to be accepted.
func errRestored(r *store.RestoredError) error {
	return fmt.Errorf("%w; look at what is there, and then accept it with `rota accept-restored-store`", r)
}
