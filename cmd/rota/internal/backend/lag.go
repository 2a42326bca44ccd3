package backend

import (
	"context"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/peer"
	"github.com/rota-scheduler/rota/scheduler/api"
)

// lagTimeout bounds the request to the leader, whose process may be stopped.
const lagTimeout = 500 * time.Millisecond

// lag returns how many seconds late the leader dispatches. Only the leader knows this, so another replica asks the leader. It
// returns nil if there is no leader, or if the leader does not answer.
func (b *Backend) lag(ctx context.Context, leader *api.LeaderView) *float64 {
	if st := b.scheduler.Status(); st.Term != 0 {
		late := st.Behind(b.cfg.Now()).Seconds()
		return &late
	}
	// The leader's address may lead to another process. A forwarded request is not forwarded again.
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
