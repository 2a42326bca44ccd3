package election

import (
	"context"
	"fmt"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// deleteTimeout bounds the removal of the key, and again that of the lease, so that leaving an election whose etcd is out
// of reach takes at most twice as long.
const deleteTimeout = time.Second

// withdraw removes our key, which hands over at once, and then the lease. It works after ctx has ended, and gives up when
// etcd does not answer in time: if we die here, key and lease go when the lease expires; if we give up, they go with our next
// candidacy.
func (c *candidacy) withdraw(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	if c.key.Rev != 0 {
		c.e.enter(StateResigning, c.e.Status().Term)
		if err := c.e.resign(ctx, c.key); err != nil {
			c.e.log.Warn("election key not removed yet", "term", c.key.Rev, "err", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	if err := c.lease.Revoke(ctx); err != nil {
		c.e.log.Warn("lease not revoked yet, it expires", "err", err)
		c.e.left = append(c.e.left, c.lease)
	}
	c.e.enter(StateFollower, Term{})
}

// removeLeft removes what earlier candidacies of ours had to leave: their leases, and with them keys, also such as were never seen.
// Where etcd was without a majority for a while, its next leader gives all leases their full time again, which nobody has to wait
// for.
func (e *Elector) removeLeft(ctx context.Context) {
	if len(e.left) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, e.cfg.RenewTimeout) // the next lease has been granted, and its time is running
	defer cancel()
	e.left = slices.DeleteFunc(e.left, func(l *Lease) bool { return l.Revoke(ctx) == nil })
}

// resign deletes the key if it is still this term's, and asks until the answer is definite: a guard that fails says that
// somebody, perhaps our own try before, has done it already.
func (e *Elector) resign(ctx context.Context, t Term) error {
	ctx, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	for {
		err := e.deleteKey(ctx, t)
		if err == nil || ctx.Err() != nil {
			return err
		}
		wait(ctx, e.cfg.RenewEvery/5)
	}
}

func (e *Elector) deleteKey(ctx context.Context, t Term) error {
	ctx, cancel := context.WithTimeout(ctx, e.cfg.RenewTimeout)
	defer cancel()
	_, err := e.client.Txn(ctx).If(t.Held()).Then(clientv3.OpDelete(t.Key)).Commit()
	if err != nil {
		return fmt.Errorf("delete election key %s: %w", t.Key, err)
	}
	return nil
}

// scoped returns a client that shares client's connections and whose Ctx is ctx. Package concurrency cleans up on its
// client's context, which for the real client ends with the process; this one ends with the candidacy. It must not be
// closed, since that would close what it shares.
func scoped(ctx context.Context, client *clientv3.Client) *clientv3.Client {
	s := clientv3.NewCtxClient(ctx, clientv3.WithZapLogger(client.GetLogger()))
	s.KV, s.Lease, s.Watcher = client.KV, client.Lease, client.Watcher
	return s
}
