package election

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// lead calls the elector's lead function under a confirmed term and waits until it has returned. It logs and shows how the term
// ended. The end of a term is no failure of the candidacy.
func (c *candidacy) lead(ctx context.Context, t Term, lead func(context.Context, Term) error) {
	leading, stop := c.until(ctx)
	defer stop(nil)
	c.wg.Go(func() { c.watchKey(t) })
	c.wg.Go(func() { c.checkKey(t) })
	began := c.e.cfg.Clock() // read before lead starts, so that every jump during lead is found
	c.wg.Go(func() { c.watchClocks(began) })

	log := c.e.log.With("term", t.Rev)
	c.e.setErr(nil)
	c.e.enter(StateLeader, t)
	var ended sync.WaitGroup
	ended.Go(func() {
		<-leading.Done()
		if cause := context.Cause(leading); errors.Is(cause, ErrTermLost) {
			log.Warn("term lost", "err", cause)
			c.e.setErr(cause)
		}
		c.e.enter(StateResigning, t)
	})
	err := lead(leading, t)
	stop(errLeadReturned)
	ended.Wait()

	switch cause := context.Cause(leading); {
	case err == nil:
		log.Debug("lead returned")
	case errors.Is(err, context.Canceled) || errors.Is(err, cause):
		log.Debug("lead stopped", "err", err)
	default:
		log.Warn("lead failed", "err", err)
		c.e.setErr(fmt.Errorf("lead term %d: %w", t.Rev, err))
	}
}

// until returns a context that ends when life ends, with the same cause, or when ctx ends, with ErrStopped. The caller must
// cancel it.
func (c *candidacy) until(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	until, cancel := context.WithCancelCause(c.life)
	unhook := context.AfterFunc(ctx, func() {
		cancel(fmt.Errorf("%w: %w", ErrStopped, context.Cause(ctx)))
	})
	return until, func(cause error) {
		unhook()
		cancel(cause)
	}
}

// watchKey ends life as soon as a watch finds our key deleted. If the watch misses it, checkKey finds it.
func (c *candidacy) watchKey(t Term) {
	if awaitDeletion(c.life, c.e.client, t, c.e.cfg.RenewEvery) {
		c.end(termLost(ErrKeyDeleted))
	}
}

// watchLife is the longest life of a watch of a term's key. When a watch breaks, the client of etcd continues it after the last
// event, of which a term has none. etcd then reads all changes since the watch began, and applies no write meanwhile.
const watchLife = 30 * time.Second

// awaitDeletion returns true as soon as a watch finds the term's key deleted: within milliseconds while the endpoint of the watch
// is healthy. A watch that breaks is opened again after a pause. Each watch begins at the present revision, however old the term
// is. awaitDeletion returns false when ctx ends. The caller must end ctx soon after awaitDeletion has returned.
func awaitDeletion(ctx context.Context, client *clientv3.Client, t Term, pause time.Duration) bool {
	for ctx.Err() == nil {
		at, stands, err := standsAt(ctx, client, t, requestTimeout)
		if err == nil && !stands {
			return true
		}
		over, broken := false, true
		if err == nil {
			over, broken = deletedAfter(ctx, client, t, at)
		}
		if over {
			return true
		}
		if broken {
			wait(ctx, pause)
		}
	}
	return false
}

// deletedAfter watches the term's key after a revision for watchLife. over reports that the key was deleted, and broken that the
// watch ended early.
func deletedAfter(ctx context.Context, client *clientv3.Client, t Term, rev int64) (over, broken bool) {
	ctx, cancel := context.WithTimeout(clientv3.WithRequireLeader(ctx), watchLife)
	defer cancel()
	for resp := range client.Watch(ctx, t.Key, clientv3.WithRev(rev+1), clientv3.WithFilterPut()) {
		if len(resp.Events) > 0 {
			return true, false
		}
	}
	return false, ctx.Err() == nil
}

// standsAt reports whether the key of a term exists, and at which revision of the store.
func standsAt(ctx context.Context, client *clientv3.Client, t Term, timeout time.Duration) (rev int64, stands bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	resp, err := client.Get(ctx, t.Key, clientv3.WithKeysOnly())
	if err != nil {
		return 0, false, fmt.Errorf("read election key %s: %w", t.Key, err)
	}
	return resp.Header.Revision, len(resp.Kvs) == 1 && resp.Kvs[0].CreateRevision == t.Rev, nil
}

// checkKey reads our key every RenewEvery and ends life when it is gone. A failed read has no consequence: if etcd answers nothing
// for long, the lease is lost.
func (c *candidacy) checkKey(t Term) {
	for c.life.Err() == nil {
		wait(c.life, c.e.cfg.RenewEvery)
		if stands, err := c.keyStands(t); err == nil && !stands {
			c.end(termLost(ErrKeyDeleted))
		}
	}
}

// keyStands reports whether the key of the term exists.
func (c *candidacy) keyStands(t Term) (bool, error) {
	_, stands, err := standsAt(c.life, c.e.client, t, c.e.cfg.RenewTimeout)
	if err == nil {
		c.e.recordContact()
	}
	return stands, err
}

// watchClocks ends life when the clocks disagree: a leader decides by the wall clock and stops by the monotonic clock.
func (c *candidacy) watchClocks(last Reading) {
	ticker := time.NewTicker(clockTick)
	defer ticker.Stop()
	for {
		select {
		case <-c.life.Done():
			return
		case <-ticker.C:
		}
		now := c.e.cfg.Clock()
		if err := now.jumpedSince(last); err != nil {
			c.end(termLost(err))
			return
		}
		last = now
	}
}
