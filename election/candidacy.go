package election

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

// firstRead is the time from the start of a campaign to the first read of the queue. If our key is still missing after
// requestTimeout, it was never written.
const firstRead = 100 * time.Millisecond

// candidacy is one lease, one session, one key, and at most one term.
type candidacy struct {
	e       *Elector
	lease   *Lease
	session *concurrency.Session

	// life ends, with the reason, when the lease or the key may be lost. The end of Run's context does not end it, because a
	// drain continues under the same lease.
	life context.Context
	end  context.CancelCauseFunc
	wg   sync.WaitGroup // all goroutines of the candidacy; each returns when life ends

	key Term // Rev is zero until a read has found our key
}

// runCandidacy tries to lead once. It returns an error if it won no term. When it returns, everything that it started has
// ended, and the key and the lease are removed. If etcd does not answer in time, the lease removes them when it expires.
func (e *Elector) runCandidacy(ctx context.Context, lead func(context.Context, Term) error) error {
	lease, err := Grant(ctx, e.client, e.cfg.lease(), e.cfg.Clock)
	if err != nil {
		return err
	}
	lease.RequireContact(e.cfg.Contact)
	e.revokeAbandoned(ctx)
	c := &candidacy{e: e, lease: lease, key: Term{Key: fmt.Sprintf("%s%x", e.cfg.Prefix, lease.ID())}}
	c.life, c.end = context.WithCancelCause(context.WithoutCancel(ctx))
	e.setLease(lease)
	defer e.setLease(nil)
	defer c.resign(ctx)
	defer c.wg.Wait()
	defer c.end(nil)

	c.wg.Go(c.renew)
	c.session, err = concurrency.NewSession(scoped(c.life, e.client),
		concurrency.WithLease(lease.ID()), concurrency.WithContext(c.life))
	if err != nil {
		return fmt.Errorf("open session %x: %w", lease.ID(), err)
	}
	c.wg.Go(c.watchSession)

	term, err := c.campaign(ctx)
	if err != nil {
		return err
	}
	c.lead(ctx, term, lead)
	return nil
}

// renew renews the lease until life ends. If the lease is lost, it ends life.
func (c *candidacy) renew() {
	if err := c.lease.Run(c.life); err != nil {
		c.end(termLost(err))
	}
}

// watchSession renews the lease at once when the session's stream ends. The end of the stream is only a hint: it comes late if
// the lease is gone, and it comes without a reason if the endpoint of the stream hangs. It returns when the session has ended.
func (c *candidacy) watchSession() {
	<-c.session.Done()
	if c.life.Err() == nil {
		c.e.log.Info("session stream ended, lease is renewed without it", "lease", fmt.Sprintf("%x", c.lease.ID()))
		c.lease.renewSoon()
	}
}

// campaign enters the election and returns our term after a transaction has proved that we hold it.
//
// The return of Campaign is only a hint that our turn may have come. Campaign reads neither its session nor its own key. So if
// the key is gone, it reports success or never returns. Its watch may also hang together with its endpoint. A read of the queue
// every RenewEvery covers all three cases. If a read has found our key before, the hint needs no further read: confirm compares
// everything that a read would show, and a read would delay the handover.
func (c *candidacy) campaign(ctx context.Context) (Term, error) {
	until, cancel := c.until(ctx)
	defer cancel(nil)
	value, err := json.Marshal(Candidate{Node: c.e.cfg.Name, Addr: c.e.cfg.Addr})
	if err != nil {
		return Term{}, fmt.Errorf("encode candidate %s: %w", c.e.cfg.Name, err)
	}

	// Campaign has no deadline for its clean-up. Both its context and the context of its client are life, so the clean-up fails
	// at once when life ends. resign removes the key instead.
	returned := make(chan error, 1)
	c.wg.Go(func() {
		returned <- concurrency.NewElection(c.session, strings.TrimSuffix(c.e.cfg.Prefix, "/")).Campaign(c.life, string(value))
	})
	enterBy := c.e.cfg.Clock().Mono.Add(requestTimeout)
	timer := time.NewTimer(firstRead)
	defer timer.Stop()
	for {
		hint := false
		select {
		case <-until.Done():
			return Term{}, context.Cause(until)
		case err := <-returned:
			if until.Err() != nil {
				return Term{}, context.Cause(until)
			}
			if err != nil {
				return Term{}, fmt.Errorf("campaign as %s: %w", c.key.Key, err)
			}
			enterBy = time.Time{}
			hint = true
		case <-timer.C:
		}
		timer.Reset(c.e.cfg.RenewEvery)
		first, err := hint && c.key.Rev != 0, error(nil)
		if !first {
			first, err = c.readQueue(until)
		}
		switch {
		case errors.Is(err, ErrKeyDeleted):
			if c.key.Rev != 0 || c.e.cfg.Clock().Mono.After(enterBy) {
				return Term{}, termLost(err)
			}
			timer.Reset(firstRead)
			continue
		case err != nil:
			c.e.log.Debug("election queue not read", "err", err)
			continue
		}
		c.e.clearFailure()
		c.e.enter(StateCandidate, Term{})
		if first {
			c.e.enter(StateConfirming, Term{})
			won, err := c.confirm(until)
			return Term{Key: c.key.Key, Rev: c.key.Rev, Won: won}, err
		}
	}
}

// readQueue reads our key and the first key of the queue at one revision. When it finds our key for the first time, it stores
// the key's create revision. It returns ErrKeyDeleted if our key is missing or has another create revision.
func (c *candidacy) readQueue(ctx context.Context) (first bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.e.cfg.RenewTimeout)
	defer cancel()
	resp, err := c.e.client.Txn(ctx).Then(
		clientv3.OpGet(c.key.Key, clientv3.WithKeysOnly()),
		clientv3.OpGet(c.e.cfg.Prefix, clientv3.WithFirstCreate()...), // a read of keys only omits the lease
	).Commit()
	if err != nil {
		return false, fmt.Errorf("read election %s: %w", c.e.cfg.Prefix, err)
	}
	c.e.recordContact()
	own := resp.Responses[0].GetResponseRange().Kvs
	if len(own) == 0 || (c.key.Rev != 0 && own[0].CreateRevision != c.key.Rev) {
		return false, ErrKeyDeleted
	}
	c.key.Rev = own[0].CreateRevision
	head := resp.Responses[1].GetResponseRange().Kvs[0]
	if head.CreateRevision != c.key.Rev && head.Lease == 0 {
		c.evict(ctx, string(head.Key), head.ModRevision)
		return false, nil
	}
	return head.CreateRevision == c.key.Rev, nil
}

// evict removes a key that is in the queue without a lease. Somebody wrote it by hand, and it would never expire. If that fails,
// the next read of the queue finds it again.
func (c *candidacy) evict(ctx context.Context, key string, rev int64) {
	resp, err := c.e.client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(key), "=", rev)).Then(clientv3.OpDelete(key)).Commit()
	switch {
	case err != nil:
		c.e.log.Debug("election key without a lease was not removed", "key", key, "err", err)
	case resp.Succeeded:
		c.e.log.Warn("removed an election key that had no lease", "key", key)
	}
}

// confirm writes our value again in a transaction. The transaction compares the create revision of our key and checks that no
// key under the prefix is older. Only its success is a win. Without an answer, confirm sends the same transaction again until
// the answer is definite or ctx ends. It returns the revision of the write: everything that earlier terms wrote is older.
func (c *candidacy) confirm(ctx context.Context) (won int64, err error) {
	value, err := json.Marshal(Candidate{Node: c.e.cfg.Name, Addr: c.e.cfg.Addr, Since: c.e.cfg.Clock().Wall})
	if err != nil {
		return 0, fmt.Errorf("encode candidate %s: %w", c.e.cfg.Name, err)
	}
	for {
		resp, err := c.tryConfirm(ctx, string(value))
		switch {
		case err == nil && resp.Succeeded:
			return resp.Header.Revision, nil
		case err == nil:
			return 0, termLost(ErrKeyDeleted)
		case ctx.Err() != nil:
			return 0, context.Cause(ctx)
		}
		c.e.log.Debug("win not confirmed yet", "term", c.key.Rev, "err", err)
		wait(ctx, c.e.cfg.RenewEvery/5)
	}
}

// tryConfirm sends the transaction of confirm once. After an error, its outcome is unknown.
func (c *candidacy) tryConfirm(ctx context.Context, value string) (*clientv3.TxnResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, c.e.cfg.RenewTimeout)
	defer cancel()
	resp, err := c.e.client.Txn(ctx).If(
		c.key.Held(),
		clientv3.Compare(clientv3.CreateRevision(c.e.cfg.Prefix), ">", c.key.Rev-1).WithPrefix(),
	).Then(
		clientv3.OpPut(c.key.Key, value, clientv3.WithLease(c.lease.ID())),
	).Commit()
	if err != nil {
		return nil, fmt.Errorf("confirm term %d: %w", c.key.Rev, err)
	}
	c.e.recordContact()
	return resp, nil
}
