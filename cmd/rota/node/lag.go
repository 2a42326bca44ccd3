package node

import (
	"context"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
)

// lagTimeout is how long the leader may take to say how far it is behind: it may be paused.
const lagTimeout = 500 * time.Millisecond

// lag is how many seconds the leader is behind with dispatching, which only the leader knows: whoever else is asked asks it.
// nil if nobody leads or it does not say.
func (b *backend) lag(ctx context.Context, leader *api.LeaderView) *float64 {
	if st := b.node.scheduler.Status(); st.Term != 0 {
		late := st.Behind(b.node.now()).Seconds()
		return &late
	}
	// An address may lead to somebody else, and what was passed on once is not passed on again.
	if leader == nil || leader.Addr == "" || leader.Node == b.node.set.Node.Name || api.MeantFor(ctx) != "" {
		return nil
	}
	scheme, transport, err := peers(b.node.set.HTTP.TLS)
	if err != nil {
		return nil
	}
	c, err := client.New(client.Config{Servers: scheme + leader.Addr, Transport: meant{transport, leader.Node}})
	if err != nil {
		return nil
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, lagTimeout)
	defer cancel()
	v, err := c.Cluster(ctx)
	if err != nil || v.Node != leader.Node {
		return nil
	}
	return v.LagSeconds
}
