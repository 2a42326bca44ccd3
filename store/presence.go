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

// restoreWithin is how long a presence is being restored before it is lost. Then the attempts of a worker have executor.HurryGrace.
// Both together are less than planner.DefaultRestoreGrace, so these attempts have ended when the leader repeats them.
const restoreWithin = 400 * time.Millisecond

// Presence shows that a worker or a replica is alive: a record on a lease that is renewed until Close. The presence is
// lost when the lease may have expired, when etcd's majority stops answering other requests, or when another client
// replaces the record. If etcd or another client removes the record before the lease is due, it is put back under the same
// session.
type Presence struct {
	store  *Store
	lease  *election.Lease
	key    string
	lost   chan struct{} // closed when the presence is lost
	once   sync.Once
	back   chan struct{} // holds a token if the record was put back
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu    sync.Mutex
	value []byte // guarded by mu: the wanted record
	rev   int64  // guarded by mu: of the last record known to be on our lease
	taken bool   // guarded by mu: another session has the record
}

// PresentWorker grants a lease of ttl and puts w on it. It replaces the record of an earlier session. The new record's
// session is the presence's ID.
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
	lease.RequireContact(&s.contact) // following our key contacts etcd all the time
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p := &Presence{store: s, lease: lease, key: key, lost: make(chan struct{}), back: make(chan struct{}, 1), cancel: cancel}
	p.wg.Go(func() { p.hold(life) }) // started now, because the write of the record may take long
	if err := p.replace(ctx, record(p.ID())); err != nil {
		_ = p.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	p.wg.Go(func() { _ = s.follow(life, key, p.follower(life)) })
	return p, nil
}

// hold renews the lease until ctx ends or the presence is lost.
func (p *Presence) hold(ctx context.Context) {
	for {
		err := p.lease.Run(ctx)
		if err == nil || p.isLost() {
			return
		}
		if !errors.Is(err, election.ErrLeaseGone) || p.restore(ctx) != nil {
			p.lose()
			return
		}
	}
}

// restore puts the record back on its lease, after etcd or another client has removed it before the lease was due. So a mistake of
// etcd (its issue 15247) ends no attempts.
func (p *Presence) restore(ctx context.Context) error {
	if p.store.WentBack() != 0 {
		return errors.New("the store was restored from a backup")
	}
	ctx, cancel := context.WithTimeout(ctx, restoreWithin)
	defer cancel()
	if err := untilDefinite(ctx, false, &p.store.tries, p.lease.Regain, func() {}); err != nil {
		return err
	}
	p.mu.Lock()
	value := p.value
	p.mu.Unlock()
	if value == nil { // the first record is being written
		return nil
	}
	err := p.put(ctx, value, absent(p.key))
	switch {
	case errors.Is(err, job.ErrConflict): // there is a record, and inspect decides about it
		err = nil
	case err == nil:
		p.store.log.Warn("presence was removed before its time, and is back", "key", p.key)
	}
	select {
	case p.back <- struct{}{}:
	default:
	}
	return err
}

// Back returns a channel that has a token after the record was removed and put back. A leader may have given up attempts before
// that, and not later without a newer record.
func (p *Presence) Back() <-chan struct{} { return p.back }

// ID returns the session: the lease's id in hexadecimal, as etcdctl prints it.
func (p *Presence) ID() string { return sessionID(p.lease.ID()) }

func sessionID(lease clientv3.LeaseID) string { return strconv.FormatInt(int64(lease), 16) }

// sessionLease returns the lease of a session; clientv3.NoLease if the session is not one of a Presence.
func sessionLease(session string) clientv3.LeaseID {
	id, _ := strconv.ParseInt(session, 16, 64)
	return clientv3.LeaseID(id)
}

// Deadline returns the instant after which other processes may consider this one dead.
func (p *Presence) Deadline() time.Time { return p.lease.Deadline() }

// Done returns a channel that is closed when the presence is lost. It stays open after Close.
func (p *Presence) Done() <-chan struct{} { return p.lost }

// Taken reports whether another session replaced our record.
func (p *Presence) Taken() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken
}

// Update replaces the record. v must carry the presence's session.
func (p *Presence) Update(ctx context.Context, v any) error {
	p.mu.Lock()
	rev := p.rev
	p.mu.Unlock()
	return p.set(ctx, v, unchanged(p.key, rev))
}

// Close revokes the lease, which removes the record, and waits for the presence's goroutines.
func (p *Presence) Close(ctx context.Context) error {
	p.cancel()
	p.wg.Wait()
	return p.lease.Revoke(ctx)
}

func (p *Presence) isLost() bool {
	select {
	case <-p.lost:
		return true
	default:
		return false
	}
}

func (p *Presence) lose() { p.once.Do(func() { close(p.lost) }) }

// replace writes v in place of the present record. The write names one revision of it, so a late sending replaces no record of a
// later session. If the record changes between the read and the write, replace tries again.
func (p *Presence) replace(ctx context.Context, v any) error {
	for {
		rev, err := p.store.revisionOf(ctx, p.key)
		if err != nil {
			return fmt.Errorf("write presence %s: %w", p.key, err)
		}
		if err := p.set(ctx, v, unchanged(p.key, rev)); !errors.Is(err, job.ErrConflict) {
			return err
		}
	}
}

// set makes v the wanted record, and writes it if guards hold.
func (p *Presence) set(ctx context.Context, v any, guards ...*pb.Compare) error {
	value, err := encode(v)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.value = value
	p.mu.Unlock()
	return p.put(ctx, value, guards...)
}

// put writes a record on the lease if guards hold.
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

// follower returns a follower of our own key.
func (p *Presence) follower(ctx context.Context) follower {
	found := false
	return follower{
		begin: func() { found = false },
		page: func(kvs []*mvccpb.KeyValue) {
			for _, kv := range kvs {
				if string(kv.Key) == p.key {
					found = true
					p.inspect(ctx, kv)
				}
			}
		},
		reset: func(int64) {
			if !found {
				p.lease.Gone()
			}
		},
		consumer: consumer{current: func(time.Time) {}, apply: func(_ int64, events []*clientv3.Event) {
			for _, ev := range events {
				switch {
				case string(ev.Kv.Key) != p.key: // the key of a longer name
				case ev.Type == clientv3.EventTypeDelete:
					p.lease.Gone()
				default:
					p.inspect(ctx, ev.Kv)
				}
			}
		}},
	}
}

// inspect checks the record at our key. If it names another session, the presence is lost. If it is not the wanted record for
// another reason, somebody wrote it by hand, and inspect repairs it.
func (p *Presence) inspect(ctx context.Context, kv *mvccpb.KeyValue) {
	var session struct{ Session string }
	err := json.Unmarshal(kv.Value, &session)
	onLease := kv.Lease == int64(p.lease.ID())
	p.mu.Lock()
	value, newer := p.value, kv.ModRevision > p.rev
	if onLease && newer { // usually our own write, whose answer has not arrived
		p.rev = kv.ModRevision
	}
	p.mu.Unlock()
	switch {
	case err == nil && session.Session != "" && session.Session != p.ID():
		p.mu.Lock()
		p.taken = p.taken || session.Session == sessionID(clientv3.LeaseID(kv.Lease)) // otherwise somebody wrote it by hand
		p.mu.Unlock()
		p.lose() // readers of the record give up our session
		return
	case onLease && (!newer || bytes.Equal(kv.Value, value)):
		return
	}
	try, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	err = p.put(try, value, unchanged(p.key, kv.ModRevision))
	if err == nil || errors.Is(err, job.ErrConflict) || ctx.Err() != nil { // after a conflict, the watch delivers the next record
		return
	}
	p.store.log.Warn("presence was overwritten and could not be repaired", "key", p.key, "err", err)
	if !onLease || session.Session != p.ID() { // readers of the record do not see our session
		p.lose()
	}
}

// EndWorker removes the presence of a worker whose process is proven dead, so that its runs move to other workers at
// once. Before that, its record gets another session: a worker that lives after all then gives its own session up, and does not
// put the record back. Only the leader calls it. The error is job.ErrConflict if the presence has changed.
func (s *Store) EndWorker(ctx context.Context, term election.Term, w *job.Worker) error {
	if term.Rev <= 0 {
		return election.ErrTermLost
	}
	key := s.keys.record(KindWorkers, w.Name)
	end := &write{lane: key, guards: []*pb.Compare{unchanged(key, w.Rev)}}
	end.putAnyway(key, []byte(s.keys.LastSign(key)), sessionLease(w.Session))
	// A group of its own, because that of the term ends with the context of its first caller.
	led := s.newGroup(ctx, &term)
	ended, err := led.do(ctx, end)
	if err != nil {
		return fmt.Errorf("end worker %s: %w", w.Name, err)
	}
	remove := &write{lane: key}
	remove.drop(key, ended.rev)
	if _, err := led.do(ctx, remove); err != nil && !errors.Is(err, job.ErrConflict) { // a conflict: the worker has started again
		return fmt.Errorf("remove ended worker %s: %w", w.Name, err)
	}
	return nil
}
