package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// Presence is the sign of life of a worker or a replica: a record on a lease that is renewed until Close. It is lost
// when the lease can no longer be vouched for, or etcd's majority answers nothing else, and when somebody removes the record or
// puts another session's there.
type Presence struct {
	store  *Store
	lease  *election.Lease
	key    string
	lost   chan struct{} // closed when the presence is lost
	once   sync.Once
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu    sync.Mutex
	value []byte // guarded by mu: the record, as it is meant to be
	rev   int64  // guarded by mu: of what we know to be there on our lease
	taken bool   // guarded by mu: another session's record was seen
}

// PresentWorker grants a lease of ttl and puts w on it, in the place of whatever another incarnation left there.
// The record's session is the presence's ID.
func (s *Store) PresentWorker(ctx context.Context, w job.Worker, ttl time.Duration) (*Presence, error) {
	return s.present(ctx, s.keys.record(KindWorkers, w.Name), ttl, func(session string) any { w.Session = session; return w })
}

// PresentReplica is PresentWorker for a replica.
func (s *Store) PresentReplica(ctx context.Context, r job.Replica, ttl time.Duration) (*Presence, error) {
	return s.present(ctx, s.keys.record(KindReplicas, r.Name), ttl, func(session string) any { r.Session = session; return r })
}

func (s *Store) present(ctx context.Context, key string, ttl time.Duration, record func(session string) any) (*Presence, error) {
	lease, err := election.Grant(ctx, s.client, election.LeaseConfig{TTL: ttl}, s.clock)
	if err != nil {
		return nil, err
	}
	lease.RequireContact(&s.heard) // what follows our key asks all the time
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p := &Presence{store: s, lease: lease, key: key, lost: make(chan struct{}), cancel: cancel}
	p.wg.Go(func() { // from now on, since the record may take long to be written
		if lease.Run(life) != nil {
			p.lose()
		}
	})
	if err := p.appear(ctx, record(p.ID())); err != nil {
		_ = p.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	p.wg.Go(func() { _ = s.follow(life, key, p.follower(life)) })
	return p, nil
}

// ID is the session: the lease's id in hexadecimal, as etcdctl prints it.
func (p *Presence) ID() string { return strconv.FormatInt(int64(p.lease.ID()), 16) }

// Deadline is the instant after which others must be assumed to think us gone.
func (p *Presence) Deadline() time.Time { return p.lease.Deadline() }

// Done is closed when the presence is lost. It stays open after Close.
func (p *Presence) Done() <-chan struct{} { return p.lost }

// Taken says whether another session was seen to have its record in the place of ours.
func (p *Presence) Taken() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken
}

// Update replaces the record; its session is kept as it is in v.
func (p *Presence) Update(ctx context.Context, v any) error {
	p.mu.Lock()
	rev := p.rev
	p.mu.Unlock()
	return p.mean(ctx, v, unchanged(p.key, rev))
}

// Close removes the record, by ending the lease, and waits for what the presence started.
func (p *Presence) Close(ctx context.Context) error {
	p.cancel()
	p.wg.Wait()
	return p.lease.Revoke(ctx)
}

func (p *Presence) lose() { p.once.Do(func() { close(p.lost) }) }

// appear has v be the record, in the place of whatever is there. What comes after that was looked at is not replaced: should the
// write come late, that is a later session, which would be lost.
func (p *Presence) appear(ctx context.Context, v any) error {
	for {
		rev, err := p.store.revisionOf(ctx, p.key)
		if err != nil {
			return fmt.Errorf("write presence %s: %w", p.key, err)
		}
		if err := p.mean(ctx, v, unchanged(p.key, rev)); !errors.Is(err, job.ErrConflict) {
			return err
		}
	}
}

// mean has v be the record from now on, and puts it there if guards hold.
func (p *Presence) mean(ctx context.Context, v any, guards ...*pb.Compare) error {
	value, err := encode(v)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.value = value
	p.mu.Unlock()
	return p.put(ctx, value, guards...)
}

// put writes a record on the lease, if guards hold.
func (p *Presence) put(ctx context.Context, value []byte, guards ...*pb.Compare) error {
	w := &write{lane: p.key, guards: guards}
	w.putAnyway(p.key, value, p.lease.ID())
	out, err := p.store.free.do(ctx, w)
	if err != nil {
		return fmt.Errorf("write presence %s: %w", p.key, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rev = max(p.rev, out.rev)
	return nil
}

// follower watches our own key.
func (p *Presence) follower(ctx context.Context) follower {
	found := false
	return follower{
		begin: func() { found = false },
		page: func(kvs []*mvccpb.KeyValue) {
			for _, kv := range kvs {
				if string(kv.Key) == p.key {
					found = true
					p.look(ctx, kv)
				}
			}
		},
		reset: func(int64) {
			if !found {
				p.lose()
			}
		},
		apply: func(_ int64, events []*clientv3.Event) {
			for _, ev := range events {
				switch {
				case string(ev.Kv.Key) != p.key: // a longer name
				case ev.Type == clientv3.EventTypeDelete:
					p.lose()
				default:
					p.look(ctx, ev.Kv)
				}
			}
		},
		current: func(time.Time) {},
	}
}

// look judges what is at our key. Another incarnation's record means that others do not see us there any more; whatever else
// is not the record as it is meant to be was put there by hand, and is put right.
func (p *Presence) look(ctx context.Context, kv *mvccpb.KeyValue) {
	var session struct{ Session string }
	err := json.Unmarshal(kv.Value, &session)
	onLease := kv.Lease == int64(p.lease.ID())
	p.mu.Lock()
	value, news := p.value, kv.ModRevision > p.rev
	if onLease && news { // as a rule written by us, without our having heard of it
		p.rev = kv.ModRevision
	}
	p.mu.Unlock()
	switch {
	case onLease && (!news || bytes.Equal(kv.Value, value)):
		return
	case err == nil && session.Session != "" && session.Session != p.ID():
		p.mu.Lock()
		p.taken = true
		p.mu.Unlock()
		p.lose()
		return
	}
	try, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	err = p.put(try, value, unchanged(p.key, kv.ModRevision))
	if err == nil || errors.Is(err, job.ErrConflict) || ctx.Err() != nil { // with a conflict, we are told of the next one
		return
	}
	p.store.log.Warn("presence was overwritten and could not be put right", "key", p.key, "err", err)
	if !onLease || session.Session != p.ID() { // and nobody sees us there
		p.lose()
	}
}

// EndWorker removes the presence of a worker whose process is proven dead, so that its runs move at once. It is the
// leader's to do; job.ErrConflict if the presence has changed.
func (s *Store) EndWorker(ctx context.Context, term election.Term, w *job.Worker) error {
	if term.Rev <= 0 {
		return election.ErrTermLost
	}
	key := s.keys.record(KindWorkers, w.Name)
	wr := &write{lane: key}
	wr.drop(key, w.Rev)
	// A group of its own, since that of the term ends with the context of whoever comes first.
	if _, err := s.newGroup(ctx, &term).do(ctx, wr); err != nil {
		return fmt.Errorf("end worker %s: %w", w.Name, err)
	}
	return nil
}
