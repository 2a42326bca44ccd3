package node

import (
	"context"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/failure"
	"github.com/rota-scheduler/rota/cmd/rota/internal/peer"
	"github.com/rota-scheduler/rota/election"
)

// nameTimeout bounds the request to another process of this node's name.
const nameTimeout = 2 * time.Second

// checkName returns an error if another process with this node's name answers. If that process is dead, it does not answer, and
// this node replaces it. If the other process advertises this node's own address, checkName cannot detect it. Then the worker
// notices later that it loses its presence.
func (n *Node) checkName(ctx context.Context) error {
	name := n.set.Node.Name
	var addrs []string
	if w, err := n.store.Worker(ctx, name); err == nil {
		addrs = append(addrs, w.Addr)
	}
	if r, err := n.store.Replica(ctx, name); err == nil {
		addrs = append(addrs, r.Addr)
	}
	for _, addr := range addrs {
		if addr == "" || addr == n.set.HTTP.Advertise {
			continue
		}
		c, err := peer.Dial(n.set.HTTP.TLS, addr, "", nameTimeout)
		if err != nil {
			continue
		}
		v, err := c.Version(ctx)
		c.Close()
		if err == nil && v.Node == name {
			return failure.Config(&NameTakenError{Name: name, Addr: addr})
		}
	}
	return nil
}

// removeStale removes the entries that an earlier process of this name left in the election. checkName has confirmed before that
// this process is gone.
func (n *Node) removeStale(ctx context.Context) {
	removed, err := election.RemoveStale(ctx, n.client, n.store.Keys().Election(), n.set.Node.Name)
	switch {
	case err != nil:
		n.log.Debug("an earlier process's candidacy stays until its lease expires", "err", err)
	case removed > 0:
		n.log.Info("an earlier process of this name was still in the election", "removed", removed)
	}
}
