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

// awaitDeletion returns true as soon as a watch finds the term's key deleted: within milliseconds while the endpoint of the watch
// is healthy. A watch that breaks is opened again after a pause, and may miss the deletion. It returns false when ctx ends. The
// caller must end ctx soon after awaitDeletion has returned.
func awaitDeletion(ctx context.Context, client *clientv3.Client, t Term, pause time.Duration) bool {
	ctx = clientv3.WithRequireLeader(ctx)
	from := t.Rev + 1
	for ctx.Err() == nil {
		for resp := range client.Watch(ctx, t.Key, clientv3.WithRev(from), clientv3.WithFilterPut()) {
			if len(resp.Events) > 0 {
				return true
			}
			from = max(from, resp.CompactRevision)
		}
		wait(ctx, pause)
	}
	return false
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
	ctx, cancel := context.WithTimeout(c.life, c.e.cfg.RenewTimeout)
	defer cancel()
	resp, err := c.e.client.Get(ctx, t.Key, clientv3.WithKeysOnly())
	if err != nil {
		return false, fmt.Errorf("read election key %s: %w", t.Key, err)
	}
	c.e.recordContact()
	return len(resp.Kvs) == 1 && resp.Kvs[0].CreateRevision == t.Rev, nil
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
