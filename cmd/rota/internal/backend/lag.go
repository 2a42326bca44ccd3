package backend

import (
	"context"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/peer"
	"github.com/rota-scheduler/rota/scheduler/api"
)

// lagTimeout is how long the leader may take to say how far it is behind: it may be paused.
const lagTimeout = 500 * time.Millisecond

// lag is how many seconds the leader is behind with dispatching, which only the leader knows: whoever else is asked asks it.
// nil if nobody leads or it does not say.
func (b *Backend) lag(ctx context.Context, leader *api.LeaderView) *float64 {
	if st := b.scheduler.Status(); st.Term != 0 {
		late := st.Behind(b.cfg.Now()).Seconds()
		return &late
	}
	// An address may lead to somebody else, and what was passed on once is not passed on again.
	if leader == nil || leader.Addr == "" || leader.Node == b.cfg.Node || api.MeantFor(ctx) != "" {
		return nil
	}
	c, err := peer.Dial(b.cfg.TLS, leader.Addr, leader.Node, 0)
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
