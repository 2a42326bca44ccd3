package election

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// requestTimeout bounds the calls that are not renewals: grants, revokes, entering the election.
const requestTimeout = 2 * time.Second

// Lease keeps one etcd lease alive and knows how long others certainly believe in it.
//
// Renewals are single calls with short deadlines, each of which may take another endpoint, and one that is not answered
// soon is not waited for before the next is sent. So a member that hangs costs some tries and not the lease, which it would
// cost the client's own keep-alive stream.
type Lease struct {
	client *clientv3.Client
	cfg    LeaseConfig
	clock  Clock
	id     clientv3.LeaseID
	asked  Reading        // the clocks before the grant was sent
	hint   chan struct{}  // holds at most one wish to renew now; never closed
	heard  *QuorumContact // nil: renewals alone vouch for the lease

	mu       sync.Mutex // guards the fields below
	ttl      time.Duration
	deadline time.Time
}

// Grant obtains a lease. Nothing renews it until Run is called, and its time is running. A nil clock means SystemClock.
// On an error a lease may exist all the same; nothing hangs on it and it expires.
func Grant(ctx context.Context, client *clientv3.Client, cfg LeaseConfig, clock Clock) (*Lease, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("grant lease: %w", err)
	}
	if clock == nil {
		clock = SystemClock
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	asked := clock()
	resp, err := client.Grant(ctx, int64((cfg.TTL+time.Second-1)/time.Second))
	if err != nil {
		return nil, fmt.Errorf("grant lease: %w", err)
	}
	l := &Lease{client: client, cfg: cfg, clock: clock, id: resp.ID, asked: asked, hint: make(chan struct{}, 1)}
	l.ttl = time.Duration(resp.TTL) * time.Second
	l.deadline = asked.Mono.Add(l.ttl - cfg.Margin)
	return l, nil
}

// ID is the lease's id in etcd.
func (l *Lease) ID() clientv3.LeaseID { return l.id }

// TTL is how long etcd keeps the lease after a renewal, as granted; it may be more than was asked for.
func (l *Lease) TTL() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ttl
}

// Deadline is the instant, on the monotonic clock, after which the holder must assume that others think it dead: the time
// before the last good renewal was sent, plus the TTL, minus the margin. etcd counts the same TTL from when it handled that
// renewal, which is later. Once passed it does not move again.
func (l *Lease) Deadline() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.deadline
}

// RequireContact has the lease count as lost, too, when etcd's majority has been silent for twice the TTL, and 10 s at least, as far as h
// knows. It is to be called before Run, by those who have something asked of the majority all the time.
func (l *Lease) RequireContact(h *QuorumContact) { l.heard = h }

// Run renews the lease. It returns nil when ctx ends, leaving the lease as it is, and an error that wraps ErrLeaseLost and
// the reason as soon as the deadline passed, etcd says that the lease is gone, its majority is silent, or the machine was suspended.
func (l *Lease) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	gone := make(chan struct{}) // closed by the renewing goroutine when etcd does not know the lease
	wg.Go(func() {
		if l.renewUntilGone(ctx) {
			close(gone)
		}
	})

	// The deadline is watched apart from the renewals, so that no call that hangs can hold it up.
	timer := time.NewTimer(0)
	defer timer.Stop()
	for last := l.asked; ; {
		now := l.clock()
		if err := now.suspendedSince(last); err != nil {
			return fmt.Errorf("%w: %w", ErrLeaseLost, err)
		}
		last = now
		left := l.Deadline().Sub(now.Mono)
		if left <= 0 {
			return fmt.Errorf("%w: %w", ErrLeaseLost, ErrDeadlinePassed)
		}
		if l.heard != nil && now.Mono.Sub(l.heard.since(l.asked.Mono)) > silence(l.TTL()) {
			return fmt.Errorf("%w: %w", ErrLeaseLost, ErrNoQuorum)
		}
		timer.Reset(min(left, clockTick))
		select {
		case <-ctx.Done():
			return nil
		case <-gone:
			return fmt.Errorf("%w: %w", ErrLeaseLost, ErrLeaseGone)
		case <-timer.C:
		}
	}
}

// Revoke ends the lease and deletes the keys on it. A lease that is gone already counts as revoked.
func (l *Lease) Revoke(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_, err := l.client.Revoke(ctx, l.id)
	if err != nil && !errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return fmt.Errorf("revoke lease %x: %w", l.id, err)
	}
	return nil
}

// renewSoon asks for a renewal now, where something hints that the lease is in doubt.
func (l *Lease) renewSoon() {
	select {
	case l.hint <- struct{}{}:
	default:
	}
}

// renewUntilGone renews until ctx ends (false) or etcd says that there is no such lease (true).
//
// Tries overlap: one by one, those that the client's other calls happen to leave to a member that hangs would use up the
// time that the lease has.
func (l *Lease) renewUntilGone(ctx context.Context) bool {
	var tries sync.WaitGroup
	defer tries.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan error)
	// A lease may have been granted long before Run: its first renewal is due by then, not by now.
	timer := time.NewTimer(l.asked.Mono.Add(l.cfg.RenewEvery).Sub(l.clock().Mono))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
		case <-l.hint:
		case err := <-answers:
			switch {
			case err == nil:
				timer.Reset(l.cfg.RenewEvery)
			case errors.Is(err, rpctypes.ErrLeaseNotFound):
				return true
			}
			// Why else a renewal failed does not matter: the deadline decides, and the next try is due already.
			continue
		}
		timer.Reset(l.cfg.RenewEvery / 5)
		tries.Go(func() {
			err := l.renew(ctx)
			select {
			case answers <- err:
			case <-ctx.Done():
			}
		})
	}
}

func (l *Lease) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.RenewTimeout)
	defer cancel()
	sent := l.clock().Mono
	resp, err := l.client.KeepAliveOnce(ctx, l.id)
	if err != nil {
		return err
	}
	l.extend(sent, time.Duration(resp.TTL)*time.Second)
	return nil
}

// extend moves the deadline after a good renewal, never back: answers may overtake each other. A lease past its deadline is
// not revived, since its holder may have been told that it is lost; so the clock is read under the lock.
func (l *Lease) extend(sent time.Time, ttl time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.clock().Mono.Before(l.deadline) {
		return
	}
	if deadline := sent.Add(ttl - l.cfg.Margin); deadline.After(l.deadline) {
		l.ttl, l.deadline = ttl, deadline
	}
}
