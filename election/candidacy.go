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

// firstLook is how soon after the campaign began our key is looked for; a key that is not there after requestTimeout is
// taken for one that was never written.
const firstLook = 100 * time.Millisecond

// candidacy is one lease, one session, one key, and at most one term.
type candidacy struct {
	e       *Elector
	lease   *Lease
	session *concurrency.Session

	// life ends, with the reason, when the lease or the key can no longer be vouched for. It does not end with Run's
	// context: a drain goes on under the same lease.
	life context.Context
	end  context.CancelCauseFunc
	wg   sync.WaitGroup // all goroutines of the candidacy; each returns when life ends

	key Term // Rev is zero until our key was seen
}

// runCandidacy tries to lead once; its error says why it came to no term. When it returns, all that it
// started has ended, and key and lease are removed; what could not be removed in time ends with the lease.
func (e *Elector) runCandidacy(ctx context.Context, lead func(context.Context, Term) error) error {
	lease, err := Grant(ctx, e.client, e.cfg.lease(), e.cfg.Clock)
	if err != nil {
		return err
	}
	lease.RequireContact(e.cfg.Contact)
	e.removeLeft(ctx)
	c := &candidacy{e: e, lease: lease, key: Term{Key: fmt.Sprintf("%s%x", e.cfg.Prefix, lease.ID())}}
	c.life, c.end = context.WithCancelCause(context.WithoutCancel(ctx))
	e.setLease(lease)
	defer e.setLease(nil)
	defer c.withdraw(ctx)
	defer c.wg.Wait()
	defer c.end(nil)

	c.wg.Go(c.renew)
	c.session, err = concurrency.NewSession(scoped(c.life, e.client),
		concurrency.WithLease(lease.ID()), concurrency.WithContext(c.life))
	if err != nil {
		return fmt.Errorf("open session %x: %w", lease.ID(), err)
	}
	c.wg.Go(c.heedSession)

	term, err := c.campaign(ctx)
	if err != nil {
		return err
	}
	c.reign(ctx, term, lead)
	return nil
}

// renew keeps the lease until life ends, and ends life when the lease is lost.
func (c *candidacy) renew() {
	if err := c.lease.Run(c.life); err != nil {
		c.end(termLost(err))
	}
}

// heedSession takes the end of the session's stream for a hint and no more: it comes late when the lease is gone, and it
// comes for nothing when the stream's endpoint hangs. A renewal tells which. It returns when the session has ended.
func (c *candidacy) heedSession() {
	<-c.session.Done()
	if c.life.Err() == nil {
		c.e.log.Info("session stream ended, renewing without it", "lease", fmt.Sprintf("%x", c.lease.ID()))
		c.lease.renewSoon()
	}
}

// campaign enters the election and returns our term once a transaction proved that we hold it.
//
// Campaign's own return is taken for a hint that our turn may have come, nothing else: it does not look at its session or
// at its own key, so it reports success to a candidate whose key is gone, or never returns to it; and its watch may hang on
// an endpoint that does. Looking at the queue every RenewEvery covers all three. The hint of a key that was seen needs no look,
// which would only hold up what a leader that resigns hands over: confirm asks for all that a look would tell.
func (c *candidacy) campaign(ctx context.Context) (Term, error) {
	until, cancel := c.until(ctx)
	defer cancel(nil)
	value, err := json.Marshal(Candidate{Node: c.e.cfg.Name, Addr: c.e.cfg.Addr})
	if err != nil {
		return Term{}, fmt.Errorf("encode candidate %s: %w", c.e.cfg.Name, err)
	}

	// life is both Campaign's context and its client's, so its clean-up, for which it has no deadline, fails at once when
	// life ends; withdraw does that work.
	returned := make(chan error, 1)
	c.wg.Go(func() {
		returned <- concurrency.NewElection(c.session, strings.TrimSuffix(c.e.cfg.Prefix, "/")).Campaign(c.life, string(value))
	})
	enterBy := c.e.cfg.Clock().Mono.Add(requestTimeout)
	timer := time.NewTimer(firstLook)
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
			first, err = c.look(until)
		}
		switch {
		case errors.Is(err, ErrKeyDeleted):
			if c.key.Rev != 0 || c.e.cfg.Clock().Mono.After(enterBy) {
				return Term{}, termLost(err)
			}
			timer.Reset(firstLook)
		case err != nil:
			c.e.log.Debug("election queue not read", "err", err)
		case first:
			c.stand()
			c.e.enter(StateConfirming, Term{})
			won, err := c.confirm(until)
			return Term{Key: c.key.Key, Rev: c.key.Rev, Won: won}, err
		default:
			c.stand()
		}
	}
}

// stand notes that our key is in the queue.
func (c *candidacy) stand() {
	c.e.recovered()
	c.e.enter(StateCandidate, Term{})
}

// look reads our key and the first of the queue at one revision. It learns our create revision when it sees the key for the
// first time, and returns ErrKeyDeleted when the key is not there, or is another one since.
func (c *candidacy) look(ctx context.Context) (first bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.e.cfg.RenewTimeout)
	defer cancel()
	resp, err := c.e.client.Txn(ctx).Then(
		clientv3.OpGet(c.key.Key, clientv3.WithKeysOnly()),
		clientv3.OpGet(c.e.cfg.Prefix, clientv3.WithFirstCreate()...), // a read of keys only does not tell the lease
	).Commit()
	if err != nil {
		return false, fmt.Errorf("read election %s: %w", c.e.cfg.Prefix, err)
	}
	c.e.hear()
	own := resp.Responses[0].GetResponseRange().Kvs
	if len(own) == 0 || (c.key.Rev != 0 && own[0].CreateRevision != c.key.Rev) {
		return false, ErrKeyDeleted
	}
	c.key.Rev = own[0].CreateRevision
	head := resp.Responses[1].GetResponseRange().Kvs[0]
	if head.CreateRevision != c.key.Rev && head.Lease == 0 {
		return false, c.evict(ctx, string(head.Key), head.ModRevision)
	}
	return head.CreateRevision == c.key.Rev, nil
}

// evict removes a key that stands in the queue without a lease, as nobody's end would ever remove it: it was put there, or
// over a candidate's key, by hand.
func (c *candidacy) evict(ctx context.Context, key string, rev int64) error {
	_, err := c.e.client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(key), "=", rev)).Then(clientv3.OpDelete(key)).Commit()
	if err != nil {
		return fmt.Errorf("remove %s, which has no lease: %w", key, err)
	}
	c.e.log.Warn("a key without a lease stood in the election and was removed", "key", key)
	return nil
}

// confirm writes our value anew in a transaction that compares our key's create revision, and that no key in the folder is
// older. Only this makes a win true. An answer that did not come is asked for again, with the same transaction, until it is
// definite or ctx ends: the write is the same each time. Its revision is where the term begins to know what it takes over.
func (c *candidacy) confirm(ctx context.Context) (won int64, err error) {
	value, err := json.Marshal(Candidate{Node: c.e.cfg.Name, Addr: c.e.cfg.Addr, Since: c.e.cfg.Clock().Wall})
	if err != nil {
		return 0, fmt.Errorf("encode candidate %s: %w", c.e.cfg.Name, err)
	}
	for {
		resp, err := c.claim(ctx, string(value))
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

// claim is one try of confirm's transaction: its answer, or an error that leaves it open.
func (c *candidacy) claim(ctx context.Context, value string) (*clientv3.TxnResponse, error) {
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
	c.e.hear()
	return resp, nil
}
