package presence

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/cmd/rota/internal/failure"
	"github.com/rota-scheduler/rota/cmd/rota/internal/loop"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/worker"
	"github.com/rota-scheduler/rota/store"
)

// TTL is how long the presence of a process that died lasts. A worker that is gone for so long is lost.
const TTL = 5 * time.Second

// WorkerTTL is the longest time for which a worker that died is still present. If etcd's leader dies with it, the next one extends
// every lease by its full time, after an election of up to two seconds. 8.4 s have been measured; WorkerTTL has room for a second
// election.
const WorkerTTL = 3 * TTL

// Sessions opens the sessions of a worker in a store.
type Sessions struct{ Store *store.Store }

// Open shows w until the session ends.
func (s Sessions) Open(ctx context.Context, w job.Worker) (worker.Session, error) {
	return s.Store.PresentWorker(ctx, w, TTL)
}

// Update shows w instead of what an open session showed.
func (s Sessions) Update(ctx context.Context, of worker.Session, w job.Worker) error {
	w.Session = of.ID()
	return of.(*store.Presence).Update(ctx, w)
}

// Replica shows a replica to the others, and which job files it has read.
type Replica struct {
	store   *store.Store
	log     hclog.Logger
	changed chan struct{} // holds a token while the record may differ from what the store has

	mu     sync.Mutex
	record job.Replica // guarded by mu: what the store is to have
}

// NewReplica returns the presence of r, which Run shows.
func NewReplica(r job.Replica, s *store.Store, log hclog.Logger) *Replica {
	return &Replica{store: s, log: log, changed: make(chan struct{}, 1), record: r}
}

const (
	retryPause    = time.Second // after a presence that failed or was lost
	updateTimeout = 5 * time.Second
	closeTimeout  = 2 * time.Second
)

// Run shows the replica until ctx ends. It replaces a presence that is lost.
func (r *Replica) Run(ctx context.Context) error {
	loop.Every(ctx, retryPause, func(ctx context.Context) { // the pause is for another process that may have this name
		held, err := r.open(ctx)
		if err != nil {
			r.log.Warn("presence could not be shown", "err", failure.Short(err))
			return
		}
		r.maintain(ctx, held)
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		_ = held.Close(closing) // if that fails, it expires
	})
	return nil
}

func (r *Replica) open(ctx context.Context) (*store.Presence, error) {
	opening, cancel := context.WithTimeout(ctx, updateTimeout)
	defer cancel()
	select { // the record that is shown next has all changes
	case <-r.changed:
	default:
	}
	return r.store.PresentReplica(opening, r.Record(), TTL)
}

// maintain writes changes of the record until ctx ends or the presence is lost.
func (r *Replica) maintain(ctx context.Context, held *store.Presence) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-held.Done():
			r.log.Warn("presence was lost")
			return
		case <-r.changed:
		}
		record := r.Record()
		record.Session = held.ID()
		updating, cancel := context.WithTimeout(ctx, updateTimeout)
		err := held.Update(updating, record)
		cancel()
		if err != nil && ctx.Err() == nil {
			r.log.Warn("presence could not be updated", "err", failure.Short(err))
			loop.Pause(ctx, retryPause)
			r.signal()
		}
	}
}

// Record returns what the store is to have, without the session.
func (r *Replica) Record() job.Replica {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.record
}

func (r *Replica) signal() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// ShowFiles shows which job files this replica has read, and a note of what is wrong with them; "" for neither.
func (r *Replica) ShowFiles(hash, note string) {
	r.mu.Lock()
	changed := r.record.FilesHash != hash || r.record.FilesNote != note
	r.record.FilesHash, r.record.FilesNote = hash, note
	r.mu.Unlock()
	if changed {
		r.signal()
	}
}
