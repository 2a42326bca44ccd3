package election

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// requestTimeout bounds calls other than renewals: to grant or revoke a lease, and to enter the election.
const requestTimeout = 2 * time.Second

// A lease is given up when the quorum has answered only renewals for silentTTLs of its TTLs, and for at least leastSilence. A
// renewal does not prove contact with the quorum. A member that hangs, for example because of its disk, still forwards renewals
// to etcd's leader. A leader on such a member would stay leader for ever and write nothing. The time is longer than two elections
// of etcd and than any single slow answer. The minimum matters where leases are short, because reads come only every few seconds.
const (
	silentTTLs   = 2
	leastSilence = 10 * time.Second
)

// maxSilence returns how long a lease of ttl is kept without contact with the quorum.
func maxSilence(ttl time.Duration) time.Duration { return max(silentTTLs*ttl, leastSilence) }

// QuorumContact records when the quorum of etcd last answered a read or a write. The zero value has no answer. Its methods are
// safe for concurrent use.
type QuorumContact struct{ at atomic.Pointer[time.Time] }

// Record records an answer that has arrived at now, on the monotonic clock.
func (c *QuorumContact) Record(now time.Time) { c.at.Store(&now) }

// since returns when the quorum answered last, or granted if that is later.
func (c *QuorumContact) since(granted time.Time) time.Time {
	if at := c.at.Load(); at != nil && at.After(granted) {
		return *at
	}
	return granted
}

// Lease renews one etcd lease and knows until when etcd certainly keeps it.
//
// Renewals are single calls with short deadlines, and each may use another endpoint. If an answer is late, the next renewal is
// sent before it arrives. So a member that hangs costs some tries. With the client's own keep-alive stream it would cost the
// lease.
type Lease struct {
	client  *clientv3.Client
	cfg     LeaseConfig
	clock   Clock
	id      clientv3.LeaseID
	asked   Reading        // the clocks before the grant was sent
	hint    chan struct{}  // contains at most one request to renew now; never closed
	gone    chan struct{}  // contains at most one report that etcd has removed the lease or its keys; never closed
	contact *QuorumContact // nil: renewals alone keep the lease

	mu       sync.Mutex // guards the fields below
	ttl      time.Duration
	deadline time.Time
}

// Grant obtains a lease. Its time runs from now, and nothing renews it before Run is called. A nil clock means SystemClock.
// After an error the lease may exist, without a key; it then expires.
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
	ttl := time.Duration(resp.TTL) * time.Second
	return &Lease{
		client: client, cfg: cfg, clock: clock, id: resp.ID, asked: asked, hint: make(chan struct{}, 1),
		gone: make(chan struct{}, 1),
		ttl:  ttl, deadline: asked.Mono.Add(ttl - cfg.Margin),
	}, nil
}

// ID returns the ID of the lease in etcd.
func (l *Lease) ID() clientv3.LeaseID { return l.id }

// TTL returns how long etcd keeps the lease after a renewal, as granted. It may be more than was requested.
func (l *Lease) TTL() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ttl
}

// Deadline returns the instant, on the monotonic clock, after which the holder must assume that the lease has expired. It is the
// time before the last successful renewal was sent, plus the TTL, minus the margin. etcd counts the same TTL from when it handled
// that renewal, which is later. After the deadline has passed, it does not move again.
func (l *Lease) Deadline() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.deadline
}

// RequireContact makes the lease count as lost too if c records no answer of the quorum for twice the TTL, and for at least 10 s.
// Call it before Run, and only if this process sends requests to the quorum all the time.
func (l *Lease) RequireContact(c *QuorumContact) { l.contact = c }

// Run renews the lease. When ctx ends, it returns nil without revoking the lease. If the lease is lost, it returns an error
// that wraps ErrLeaseLost and the reason. The deadline has passed, etcd does not know the lease, the quorum is silent, or the
// machine was suspended.
func (l *Lease) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	wg.Go(func() {
		if l.renewUntilGone(ctx) {
			l.Gone()
		}
	})

	// The deadline is watched in this goroutine, so that a renewal that hangs cannot delay it.
	timer := time.NewTimer(0)
	defer timer.Stop()
	for last, gone := l.asked, false; ; {
		now := l.clock()
		if err := now.suspendedSince(last); err != nil {
			return fmt.Errorf("%w: %w", ErrLeaseLost, err)
		}
		last = now
		left := l.Deadline().Sub(now.Mono)
		if left <= 0 {
			return fmt.Errorf("%w: %w", ErrLeaseLost, ErrDeadlinePassed)
		}
		if l.contact != nil && now.Mono.Sub(l.contact.since(l.asked.Mono)) > maxSilence(l.TTL()) {
			return fmt.Errorf("%w: %w", ErrLeaseLost, ErrNoQuorum)
		}
		if gone { // before its deadline, by the clocks that were read after the report
			return fmt.Errorf("%w: %w", ErrLeaseLost, ErrLeaseGone)
		}
		timer.Reset(min(left, clockTick))
		select {
		case <-ctx.Done():
			return nil
		case <-l.gone:
			gone = true
		case <-timer.C:
		}
	}
}

// Gone reports that etcd has removed the lease, or a key on it. Run then ends with ErrLeaseGone, unless the lease was lost before
// that for another reason. So a caller that finds ErrLeaseGone knows that etcd removed a lease that was not due.
func (l *Lease) Gone() {
	select {
	case l.gone <- struct{}{}:
	default:
	}
}

// Regain obtains the lease again under its ID, after Run has ended with ErrLeaseGone. Then Run may be called again. Keys that were
// on the lease stay removed. A lease that etcd still has counts as regained.
func (l *Lease) Regain(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	asked, ttl := l.clock(), l.TTL()
	_, err := leaseService(l.client).LeaseGrant(ctx, &pb.LeaseGrantRequest{ID: int64(l.id), TTL: int64(ttl / time.Second)})
	switch err = rpctypes.Error(err); {
	case err == nil:
		l.extend(asked.Mono, ttl)
	case !errors.Is(err, rpctypes.ErrLeaseExist):
		return err
	}
	l.asked = asked // Run compares the clocks from here on
	return nil
}

// leaseService returns the service to which client sends its requests about leases. A client without a network has a method for
// this. clientv3 itself cannot ask for an ID.
func leaseService(client *clientv3.Client) pb.LeaseClient {
	if in, ok := client.Lease.(interface{ Service() pb.LeaseClient }); ok {
		return in.Service()
	}
	return clientv3.RetryLeaseClient(client)
}

// Revoke ends the lease and deletes its keys. A lease that is gone already counts as revoked.
func (l *Lease) Revoke(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_, err := l.client.Revoke(ctx, l.id)
	if err != nil && !errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return fmt.Errorf("revoke lease %x: %w", l.id, err)
	}
	return nil
}

// renewSoon requests a renewal now. Call it when the lease may be lost.
func (l *Lease) renewSoon() {
	select {
	case l.hint <- struct{}{}:
	default:
	}
}

// renewUntilGone renews until ctx ends (false) or etcd says that the lease is gone (true).
//
// Tries overlap. If each waited for the one before, a few tries at a member that hangs would use up the time of the lease.
func (l *Lease) renewUntilGone(ctx context.Context) bool {
	var tries sync.WaitGroup
	defer tries.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan error)
	// The first renewal is due RenewEvery after the grant, which may be long before Run.
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
			// Other errors need no action: the next try is scheduled, and Run watches the deadline.
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

// extend moves the deadline forward after a successful renewal. An older answer that arrives late does not move it back. A lease
// past its deadline stays lost, because its holder may already know that it is lost; so the clock is read under the lock.
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
