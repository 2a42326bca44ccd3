package node

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
)

// ownClock is our own clock as it went when our term began: what it is set ahead by since does not count.
type ownClock struct {
	mu    sync.Mutex
	shown time.Time // guarded by mu
	heard time.Time // guarded by mu: when, by the monotonic clock
}

// start notes what our clock shows as our term begins.
func (o *ownClock) start(now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.shown, o.heard = now.Round(0), time.Now()
}

// now returns what our clock shows, or less.
func (o *ownClock) now(shows time.Time) time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	if least := o.shown.Add(time.Since(o.heard)); least.Before(shows) {
		return least
	}
	return shows
}

// leaderNow returns the least that the clock of the leader of term shows now, false if nobody knows.
func (n *Node) leaderNow(term int64) (time.Time, bool) {
	if n.scheduler != nil && term != 0 && n.scheduler.Status().Term == term {
		return n.clocks.own.now(n.now()), true
	}
	return n.clocks.leader.now(term)
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
		return n.clocks.own.now(now).UTC(), nil
	}
	leader, known := n.clocks.leader.offset(now)
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
