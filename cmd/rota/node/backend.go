package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store"
)

// backend answers the API from the node's mirror and store.
type backend struct {
	node  *Node
	ready atomic.Bool // the store is there

	streams sync.WaitGroup // of events that are being told; they end with their requests

	restored atomic.Pointer[store.RestoredError] // the store waits to be accepted; nil: it does not
}

var (
	_ api.Reader   = (*backend)(nil)
	_ api.Planner  = (*backend)(nil)
	_ api.Editor   = (*backend)(nil)
	_ api.Operator = (*backend)(nil)
	_ api.Logs     = (*backend)(nil)
	_ api.Events   = (*backend)(nil)
	_ api.Restorer = (*backend)(nil)
)

// What readiness allows: how long a watch may prove nothing, and how late dispatching may be. A watch that is well proves every
// 3 s that it is current, and may miss one of these proofs. The store replaces one that is dead 15 to 18 s after its last proof:
// readiness has to tell well before, or it never does.
const (
	maxSilence = 8 * time.Second
	maxBehind  = 5 * time.Second
)

// parts is what this node serves.
func (b *backend) parts() api.Backend {
	n := b.node
	parts := api.Backend{Logs: b, Restorer: b, Metrics: n.metrics.handler(), Clock: n.now}
	parts.Health.Ready = []api.Check{
		{Name: "store", Probe: b.checkStore}, {Name: "space", Probe: n.space.check}, {Name: "disk", Probe: b.checkDisk},
	}
	if n.cfg.Role == WorkerOnly {
		parts.Health.Ready = append(parts.Health.Ready,
			api.Check{Name: "presence", Probe: b.checkPresence},
			api.Check{Name: "orders", Probe: b.checkOrders},
		)
		return parts
	}
	parts.Term, parts.Now = b.term, b.now
	parts.Reader, parts.Planner, parts.Editor, parts.Operator, parts.Events, parts.Limiter = b, b, b, b, b, b
	parts.Health.Ready = append(parts.Health.Ready,
		api.Check{Name: "watch", Probe: b.checkWatch},
		api.Check{Name: "candidate", Probe: b.checkCandidate},
		api.Check{Name: "clock", Probe: b.checkClock},
		api.Check{Name: "dispatch", Probe: b.checkDispatch},
	)
	if n.set.Worker.Enabled {
		parts.Health.Ready = append(parts.Health.Ready, api.Check{Name: "orders", Probe: b.checkOrders})
	}
	parts.Health.Leader = b.checkLeader
	return parts
}

// checkDisk is about this process's own disk, and what else its machine lacks: a worker that cannot write to it takes nothing.
func (b *backend) checkDisk(context.Context) error {
	if !b.ready.Load() || b.node.worker == nil {
		return nil
	}
	return b.node.worker.Refuses()
}

// errNoStore is the answer until there is a store.
var errNoStore = fmt.Errorf("etcd has not answered yet: %w", api.ErrUnavailable)

// term is the term that this process leads, zero for none.
func (b *backend) term() int64 {
	if !b.ready.Load() {
		return 0
	}
	return b.node.scheduler.Status().Term
}

// now dates a change: see Node.clusterNow.
func (b *backend) now(ctx context.Context) (time.Time, error) {
	if err := b.up(); err != nil {
		return time.Time{}, err
	}
	return b.node.clusterNow(ctx)
}

// started says whether this process has begun to use the store.
func (b *backend) started() error {
	if restored := b.restored.Load(); restored != nil {
		return fmt.Errorf("%w: %v", api.ErrHeld, errRestored(restored))
	}
	if !b.ready.Load() {
		return errNoStore
	}
	return nil
}

// up says whether there is anything to answer from.
func (b *backend) up() error {
	if err := b.started(); err != nil {
		return err
	}
	if rev, _ := b.node.mirror.Current(); rev == 0 {
		return fmt.Errorf("the store has not been read yet: %w", api.ErrUnavailable)
	}
	return nil
}

func (b *backend) checkStore(ctx context.Context) error {
	if restored := b.restored.Load(); restored != nil {
		return errRestored(restored)
	}
	if !b.ready.Load() {
		return errors.New("etcd has not answered yet")
	}
	_, err := b.node.store.Revision(ctx)
	if err != nil {
		return errors.New("etcd does not answer: " + shortError(err))
	}
	return nil
}

// checkPresence is about a worker: one that others do not see is given nothing.
func (b *backend) checkPresence(ctx context.Context) error {
	if !b.ready.Load() {
		return errors.New("etcd has not answered yet")
	}
	w, err := b.node.store.Worker(ctx, b.node.set.Node.Name)
	switch {
	case errors.Is(err, job.ErrNotFound):
		return errors.New("others do not see this worker")
	case err != nil:
		return errors.New("etcd does not answer: " + shortError(err))
	case w.Draining || w.PID != pid():
		return errors.New("the worker takes nothing new")
	}
	return nil
}

// checkOrders is about whoever works: one that hears of no orders begins nothing.
func (b *backend) checkOrders(context.Context) error {
	if err := b.started(); err != nil {
		return err
	}
	heard := b.node.store.OrdersHeard()
	switch silent := time.Since(heard); {
	case heard.IsZero():
		return errors.New("no orders have been read yet")
	case silent > maxSilence:
		return fmt.Errorf("no orders were heard of for %v", silent.Round(time.Second))
	}
	return nil
}

func (b *backend) checkWatch(context.Context) error {
	if err := b.up(); err != nil {
		return err
	}
	if _, heard := b.node.mirror.Current(); time.Since(heard) > maxSilence {
		return fmt.Errorf("nothing was heard from the watch for %v", time.Since(heard).Round(time.Second))
	}
	return nil
}

func (b *backend) checkCandidate(context.Context) error {
	if !b.ready.Load() {
		return errors.New("not campaigning yet")
	}
	if st := b.node.elector.Status(); st.Err != nil {
		return fmt.Errorf("%v: %s", st.State, shortError(st.Err))
	}
	return nil
}

func (b *backend) checkClock(context.Context) error {
	if !b.ready.Load() {
		return nil
	}
	return b.node.clocks.peers.Trusted()
}

// checkDispatch is about the leader: one that does not dispatch is not ready.
func (b *backend) checkDispatch(context.Context) error {
	if !b.ready.Load() {
		return errors.New("not dispatching yet")
	}
	st := b.node.scheduler.Status()
	if late := st.Behind(b.node.now()); late > maxBehind {
		return fmt.Errorf("dispatching is %v late, %d decisions are not answered", late.Round(time.Second), st.Pending)
	}
	return nil
}

func (b *backend) checkLeader(context.Context) error {
	if !b.ready.Load() || b.node.scheduler.Status().Term == 0 {
		return errors.New("this replica does not lead")
	}
	return nil
}

// unavailable marks an error of the store as one that may pass.
func unavailable(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%w: %s", api.ErrUnavailable, shortError(err))
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

func pid() int { return os.Getpid() }
