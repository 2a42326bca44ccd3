package election

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// reign calls lead under a confirmed term and returns when it has returned. How the term ended is logged and shown here;
// none of it is a failure of the candidacy.
func (c *candidacy) reign(ctx context.Context, t Term, lead func(context.Context, Term) error) {
	leading, stop := c.until(ctx)
	defer stop(nil)
	c.wg.Go(func() { c.watchKey(t) })
	c.wg.Go(func() { c.checkKey(t) })
	began := c.e.cfg.Clock() // read before lead begins, so that no jump under it is missed
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

// until returns a context that ends with life, for its reason, or with ctx, for ErrStopped, whichever is first. The caller
// must cancel it.
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

// watchKey ends life as soon as a watch sees our key deleted. What it misses, checkKey sees.
func (c *candidacy) watchKey(t Term) {
	if awaitDeletion(c.life, c.e.client, t, c.e.cfg.RenewEvery) {
		c.end(termLost(ErrKeyDeleted))
	}
}

// awaitDeletion returns true as soon as a watch sees the term's key deleted: milliseconds after it happened, while the watch's
// endpoint is healthy. A watch that breaks off is opened again after a pause, and may miss it. It returns false when ctx ends,
// which has to be soon after it has returned anyway.
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

// checkKey ends life when a read shows that our key is gone, every RenewEvery. A read that fails shows nothing by itself: the lease
// is lost when nothing else is answered for long.
func (c *candidacy) checkKey(t Term) {
	for c.life.Err() == nil {
		wait(c.life, c.e.cfg.RenewEvery)
		if held, err := c.holds(t); err == nil && !held {
			c.end(termLost(ErrKeyDeleted))
		}
	}
}

func (c *candidacy) holds(t Term) (bool, error) {
	ctx, cancel := context.WithTimeout(c.life, c.e.cfg.RenewTimeout)
	defer cancel()
	resp, err := c.e.client.Get(ctx, t.Key, clientv3.WithKeysOnly())
	if err != nil {
		return false, fmt.Errorf("read election key %s: %w", t.Key, err)
	}
	c.e.hear()
	return len(resp.Kvs) == 1 && resp.Kvs[0].CreateRevision == t.Rev, nil
}

// watchClocks ends life when the clocks disagree: a leader decides by the wall clock and stops by the monotonic one.
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
