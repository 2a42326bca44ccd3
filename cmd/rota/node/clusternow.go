package node

import (
	"context"
	"fmt"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
)

// leaderNow returns the least that the clock of the leader of term shows now, false if nobody knows.
func (n *Node) leaderNow(term int64) (time.Time, bool) {
	if n.scheduler != nil && term != 0 && n.scheduler.Status().Term == term {
		return n.clocks.own.Now(n.now()), true
	}
	return n.clocks.leader.Now(term)
}

// clusterNow dates a change that is made now. The leader decides by its own clock what is due and owed,
// so that is the one that counts, if ours differs from it by more than noise. Who knows that its clock is wrong, and not what
// the leader's shows, changes nothing. It returns once the others' clocks have been asked for the first time.
func (n *Node) clusterNow(ctx context.Context) (time.Time, error) {
	select {
	case <-n.clocks.peers.Judged():
	case <-ctx.Done():
		return time.Time{}, context.Cause(ctx)
	}
	now := n.now()
	if n.scheduler.Status().Term != 0 { // or our clock has just been set, and our term is about to end
		return n.clocks.own.Now(now).UTC(), nil
	}
	leader, known := n.clocks.leader.Offset(now)
	wrong := n.clocks.peers.Trusted()
	switch {
	case known && leader.Beyond(n.set.Dispatch.MaxClockOffset):
		return now.Add(leader.Ahead).UTC(), nil
	case !known && wrong != nil:
		return time.Time{}, fmt.Errorf("replica %s has a wrong clock and knows of no leader's: %w: ask another replica, and set this one's clock right: %w",
			n.set.Node.Name, wrong, api.ErrUnavailable)
	}
	return now.UTC(), nil
}
