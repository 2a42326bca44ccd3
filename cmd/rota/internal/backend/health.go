package backend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/failure"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// MaxSilence is how long the watch of a ready process may be silent. A healthy watch proves every 3 s that it is current; one
// missing proof is tolerated. The store replaces a dead watch 15 to 18 s after its last proof. Readiness must fail well before
// that.
const MaxSilence = 8 * time.Second

// maxBehind is the largest delay of dispatches with which a leader is ready.
const maxBehind = 5 * time.Second

// errNoAnswer is the reason of failed checks until there is a store.
var errNoAnswer = errors.New("etcd has not answered yet")

// health returns the checks of this process.
func (b *Backend) health() (h api.Health) {
	h.Ready = []api.Check{
		{Name: "store", Probe: b.checkStore}, {Name: "space", Probe: b.cfg.Space.Check}, {Name: "disk", Probe: b.checkDisk},
	}
	if b.cfg.WorkerOnly {
		h.Ready = append(h.Ready,
			api.Check{Name: "presence", Probe: b.checkPresence},
			api.Check{Name: "orders", Probe: b.checkOrders},
		)
		return h
	}
	h.Ready = append(h.Ready,
		api.Check{Name: "watch", Probe: b.checkWatch},
		api.Check{Name: "candidate", Probe: b.checkCandidate},
		api.Check{Name: "clock", Probe: b.checkClock},
		api.Check{Name: "dispatch", Probe: b.checkDispatch},
	)
	if b.cfg.Works {
		h.Ready = append(h.Ready, api.Check{Name: "orders", Probe: b.checkOrders})
	}
	h.Leader = b.checkLeader
	return h
}

// ChecksPass reports whether this process is ready, as /readyz says. It takes at most a second.
func (b *Backend) ChecksPass(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return len(b.notReady(ctx)) == 0
}

// checkStore fails if etcd does not answer, or if a restored store waits to be accepted.
func (b *Backend) checkStore(ctx context.Context) error {
	if restored := b.cfg.Admission.Restored(); restored != nil {
		return errRestored(restored)
	}
	if !b.ready.Load() {
		return errNoAnswer
	}
	if _, err := b.store.Revision(ctx); err != nil {
		return errors.New("etcd does not answer: " + failure.Short(err))
	}
	return nil
}

// checkDisk fails if the machine of this process lacks a resource such as disk space, so that the worker takes no new runs.
func (b *Backend) checkDisk(context.Context) error {
	if !b.ready.Load() || b.worker == nil {
		return nil
	}
	return b.worker.Refuses()
}

// checkPresence fails if the presence of this worker is missing in the store, so that the leader assigns no runs to it.
func (b *Backend) checkPresence(ctx context.Context) error {
	if !b.ready.Load() {
		return errNoAnswer
	}
	w, err := b.store.Worker(ctx, b.cfg.Node)
	switch {
	case errors.Is(err, job.ErrNotFound):
		return errors.New("others do not see this worker")
	case err != nil:
		return errors.New("etcd does not answer: " + failure.Short(err))
	case w.Draining && w.Pressure == "" || w.PID != os.Getpid(): // pressure passes, and the API of a replica stays useful
		return errors.New("the worker takes nothing new")
	}
	return nil
}

// checkOrders fails if the watch of the worker's orders is silent, so that the worker starts no runs.
func (b *Backend) checkOrders(context.Context) error {
	if err := b.started(); err != nil {
		return err
	}
	heard := b.store.OrdersHeard()
	switch silent := time.Since(heard); {
	case heard.IsZero():
		return errors.New("no orders have been read yet")
	case silent > MaxSilence:
		return fmt.Errorf("no orders were heard of for %v", silent.Round(time.Second))
	}
	return nil
}

// checkWatch fails if the watch of the mirror is silent.
func (b *Backend) checkWatch(context.Context) error {
	if err := b.up(); err != nil {
		return err
	}
	if _, heard := b.mirror.Current(); time.Since(heard) > MaxSilence {
		return fmt.Errorf("nothing was heard from the watch for %v", time.Since(heard).Round(time.Second))
	}
	return nil
}

// checkCandidate fails if this replica cannot stand for election.
func (b *Backend) checkCandidate(context.Context) error {
	if !b.ready.Load() {
		return errors.New("not campaigning yet")
	}
	if st := b.elector.Status(); st.Err != nil {
		return fmt.Errorf("%v: %s", st.State, failure.Short(st.Err))
	}
	return nil
}

// checkClock fails if this replica's clock is wrong.
func (b *Backend) checkClock(context.Context) error {
	if !b.ready.Load() {
		return nil
	}
	return b.clocks.Trusted()
}

// checkDispatch fails if this replica leads and dispatches too late.
func (b *Backend) checkDispatch(context.Context) error {
	if !b.ready.Load() {
		return errors.New("not dispatching yet")
	}
	st := b.scheduler.Status()
	return behind(st.Behind(b.cfg.Now()), st.Pending)
}

// behind returns an error if the oldest decision is too late. pending is the number of decisions that etcd has not answered.
func behind(late time.Duration, pending int) error {
	switch rounded := late.Round(time.Second); {
	case late <= maxBehind:
		return nil
	case pending == 0:
		return fmt.Errorf("dispatching is %v late", rounded)
	default:
		return fmt.Errorf("dispatching is %v late, %d decisions are not answered", rounded, pending)
	}
}

// Dispatches returns why this replica does not dispatch in time; nil if it leads and does.
func (b *Backend) Dispatches(ctx context.Context) error {
	return cmp.Or(b.checkLeader(ctx), b.checkDispatch(ctx))
}

// checkLeader fails unless this replica leads.
func (b *Backend) checkLeader(context.Context) error {
	if !b.ready.Load() || b.scheduler.Status().Term == 0 {
		return errors.New("this replica does not lead")
	}
	return nil
}
