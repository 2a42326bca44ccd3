package election

import (
	"context"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// deleteTimeout bounds the deletion of the key, and separately the revocation of the lease. So resigning takes at most twice this
// time if etcd does not answer.
const deleteTimeout = time.Second

// resign deletes our key, which hands over at once, and then revokes the lease. It works after ctx has ended, and gives up if
// etcd does not answer in time. If the process dies here, key and lease are removed when the lease expires. After giving up, our
// next candidacy revokes the lease.
func (c *candidacy) resign(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	if c.key.Rev != 0 {
		c.e.enter(StateResigning, c.e.Status().Term)
		if err := c.deleteKey(ctx); err != nil {
			c.e.log.Warn("election key not removed yet", "term", c.key.Rev, "err", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	if err := c.lease.Revoke(ctx); err != nil {
		c.e.log.Warn("lease not revoked yet, it expires", "err", err)
		c.e.abandoned = append(c.e.abandoned, c.lease)
	}
	c.e.enter(StateFollower, Term{})
}

// deleteKey deletes our key if it is still that of this candidacy. It tries again until etcd's answer is definite.
func (c *candidacy) deleteKey(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	for {
		try, cancel := context.WithTimeout(ctx, c.e.cfg.RenewTimeout)
		err := deleteKey(try, c.e.client, c.key)
		cancel()
		if err == nil || ctx.Err() != nil {
			return err
		}
		wait(ctx, c.e.cfg.RenewEvery/5)
	}
}

// revokeAbandoned revokes the leases that earlier candidacies could not revoke. Their keys go with them, including keys
// that no read has found. If etcd had no quorum for a while, its next leader extends all leases to their full TTL.
// Without the revocation, candidates would wait for that time.
func (e *Elector) revokeAbandoned(ctx context.Context) {
	if len(e.abandoned) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, e.cfg.RenewTimeout) // the time of the new lease runs already
	defer cancel()
	e.abandoned = slices.DeleteFunc(e.abandoned, func(l *Lease) bool { return l.Revoke(ctx) == nil })
}

// scoped returns a client that shares client's connections and whose Ctx is ctx. Package concurrency cleans up on the context of
// its client. The real client ends with the process; this one ends with the candidacy. Never close the returned client:
// that would close the shared connections.
func scoped(ctx context.Context, client *clientv3.Client) *clientv3.Client {
	s := clientv3.NewCtxClient(ctx, clientv3.WithZapLogger(client.GetLogger()))
	s.KV, s.Lease, s.Watcher = client.KV, client.Lease, client.Watcher
	return s
}
