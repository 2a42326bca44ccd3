package node

import (
	"context"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/worker"
	"github.com/rota-scheduler/rota/store"
)

// sessions opens the worker's sessions in the store.
type sessions struct{ store *store.Store }

func (s sessions) Open(ctx context.Context, w job.Worker) (worker.Session, error) {
	return s.store.PresentWorker(ctx, w, presenceTTL)
}

func (s sessions) Update(ctx context.Context, of worker.Session, w job.Worker) error {
	w.Session = of.ID()
	return of.(*store.Presence).Update(ctx, w)
}

// presence shows this replica to the others, and which job files it has read.
type presence struct {
	node    *Node
	changed chan struct{} // holds a token while record may differ from what is shown

	mu     sync.Mutex
	record job.Replica // guarded by mu: what is to be shown
}

func newPresence(n *Node) *presence {
	return &presence{node: n, changed: make(chan struct{}, 1), record: job.Replica{
		Name: n.set.Node.Name, Addr: n.set.HTTP.Advertise, Version: n.cfg.Version.Version, Started: n.started, PID: pid(),
	}}
}

// presencePause is the pause after what could not be shown.
const presencePause = time.Second

// run keeps the presence until ctx ends: one that is lost is replaced.
func (p *presence) run(ctx context.Context) error {
	for ctx.Err() == nil {
		held, err := p.open(ctx)
		if err != nil {
			p.node.log.Warn("presence could not be shown", "err", shortError(err))
			pause(ctx, presencePause)
			continue
		}
		p.keep(ctx, held)
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		_ = held.Close(closing) // it expires by itself otherwise
		cancel()
		pause(ctx, presencePause) // another process may have our name
	}
	return nil
}

func (p *presence) open(ctx context.Context) (*store.Presence, error) {
	opening, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	select { // what is shown from now on is all of it
	case <-p.changed:
	default:
	}
	return p.node.store.PresentReplica(opening, p.wanted(), presenceTTL)
}

// keep shows what changes until ctx ends or the presence is lost.
func (p *presence) keep(ctx context.Context, held *store.Presence) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-held.Done():
			p.node.log.Warn("presence was lost")
			return
		case <-p.changed:
		}
		record := p.wanted()
		record.Session = held.ID()
		updating, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := held.Update(updating, record)
		cancel()
		if err != nil && ctx.Err() == nil {
			p.node.log.Warn("presence could not be updated", "err", shortError(err))
			pause(ctx, presencePause)
			p.again()
		}
	}
}

func (p *presence) wanted() job.Replica {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.record
}

// again has the record shown anew.
func (p *presence) again() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// setFiles shows which job files this replica has read, and what is wrong with them.
func (p *presence) setFiles(hash, note string) {
	p.mu.Lock()
	changed := p.record.FilesHash != hash || p.record.FilesNote != note
	p.record.FilesHash, p.record.FilesNote = hash, note
	p.mu.Unlock()
	if changed {
		p.again()
	}
}

// pause waits, unless ctx ends first.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
