package presence

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/cmd/rota/internal/failure"
	"github.com/rota-scheduler/rota/cmd/rota/internal/loop"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/worker"
	"github.com/rota-scheduler/rota/store"
)

// TTL is how long a presence lasts after the death of its process. If a worker is gone for this long, it counts as lost.
const TTL = 5 * time.Second

// WorkerTTL is the longest time for which a dead worker is still present. If etcd's leader dies with the worker, etcd needs an
// election of up to two seconds. Then the next leader extends every lease by its full time. The longest measured time is 8.4 s.
// After that, the planner waits for a record that etcd removed by mistake. WorkerTTL has room for both.
const WorkerTTL = 3 * TTL

// Sessions opens the sessions of a worker in a store.
type Sessions struct{ Store *store.Store }

// Open publishes w in the store until the session ends.
func (s Sessions) Open(ctx context.Context, w job.Worker) (worker.Session, error) {
	return s.Store.PresentWorker(ctx, w, TTL)
}

// Update replaces the published record of an open session with w.
func (s Sessions) Update(ctx context.Context, of worker.Session, w job.Worker) error {
	w.Session = of.ID()
	return of.(*store.Presence).Update(ctx, w)
}

// Replica publishes a replica, and the job files that it has read, in the store.
type Replica struct {
	store   *store.Store
	log     hclog.Logger
	now     func() time.Time
	changed chan struct{} // holds a token if the record may differ from the one in the store

	mu     sync.Mutex
	record job.Replica // guarded by mu: the record that the store should have
}

// NewReplica returns a Replica for r. Its Run publishes r. now is the process's clock.
func NewReplica(r job.Replica, s *store.Store, now func() time.Time, log hclog.Logger) *Replica {
	return &Replica{store: s, log: log, now: now, changed: make(chan struct{}, 1), record: r}
}

const (
	retryPause    = time.Second // after a presence that failed or was lost
	updateTimeout = 5 * time.Second
	closeTimeout  = 2 * time.Second
)

// Run publishes the replica until ctx ends. If the presence is lost, Run makes a new one.
func (r *Replica) Run(ctx context.Context) error {
	var logged string // the error that was logged last; "" after a success

	loop.Every(ctx, retryPause, func(ctx context.Context) { // the pause gives another process with this name a chance
		held, err := r.open(ctx)
		if err != nil {
			if text := failure.Short(err); text != logged && ctx.Err() == nil {
				r.log.Warn("presence could not be shown", "err", text)
				logged = text
			}
			return
		}
		logged = ""
		r.maintain(ctx, held)
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		if ctx.Err() != nil { // the others learn that this replica stops, and is not lost
			record := r.Record()
			record.Session, record.Leaving = held.ID(), r.now().Round(0).UTC()
			_ = held.Update(closing, record)
		}
		_ = held.Close(closing) // after an error, the presence expires by itself
	})
	return nil
}

func (r *Replica) open(ctx context.Context) (*store.Presence, error) {
	opening, cancel := context.WithTimeout(ctx, updateTimeout)
	defer cancel()
	select { // clear the token: the next presence begins with the latest record
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

// Record returns the record that the store should have, without the session.
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

// ShowFiles publishes which job files this replica has read. note describes a problem with them. Each may be "".
func (r *Replica) ShowFiles(hash, note string) {
	r.mu.Lock()
	changed := r.record.FilesHash != hash || r.record.FilesNote != note
	r.record.FilesHash, r.record.FilesNote = hash, note
	r.mu.Unlock()
	if changed {
		r.signal()
	}
}

// ShowUndelivered publishes the notifiers whose messages do not arrive. The caller must not change the list afterwards.
func (r *Replica) ShowUndelivered(list []job.Undelivered) {
	r.mu.Lock()
	r.record.Undelivered = list
	r.mu.Unlock()
	r.signal()
}

// ShowMembers publishes the members that etcd.embedded.cluster lists. The caller must not change the list afterwards.
func (r *Replica) ShowMembers(list []string) {
	r.mu.Lock()
	changed := !slices.Equal(r.record.Members, list)
	r.record.Members = list
	r.mu.Unlock()
	if changed {
		r.signal()
	}
}

// ShowOutages publishes the outages that this replica observed. The caller must not change the list afterwards.
func (r *Replica) ShowOutages(list []job.Outage) {
	r.mu.Lock()
	r.record.Outages = list
	r.mu.Unlock()
	r.signal()
}
