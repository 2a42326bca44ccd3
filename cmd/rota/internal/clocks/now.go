package clocks

import (
	"context"
	"fmt"
	"time"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/api"
)

// Peers returns the clocks of the other replicas. This replica compares its clock with them to decide whether it may lead.
func (c *Clocks) Peers() *election.PeerClocks { return c.peers }

// Trusted returns an error if this process's clock is wrong.
func (c *Clocks) Trusted() error { return c.peers.Trusted() }

// StartTerm starts a clock for a term in which this process leads. If somebody sets the wall clock forward during the term, the
// term's clock shows less than the wall clock.
func (c *Clocks) StartTerm() { c.own.Start(c.cfg.Now()) }

// leads reports whether this process leads.
func (c *Clocks) leads() bool { return c.cfg.Term != nil && c.cfg.Term() != 0 }

// LeaderNow returns the earliest time that the leader's clock can show now. term is the term of the leader. It returns false if
// the time is unknown.
func (c *Clocks) LeaderNow(term int64) (time.Time, bool) {
	if term != 0 && c.cfg.Term != nil && c.cfg.Term() == term {
		return c.own.Now(c.cfg.Now()), true
	}
	return c.leader.Now(term)
}

// Corrected returns the leader's time when this process's clock shows now. If the two differ only by noise, or if the leader's
// time is unknown, it returns now.
func (c *Clocks) Corrected(now time.Time) time.Time {
	if c.leads() {
		return c.own.Now(now)
	}
	if leader, known := c.leader.Offset(now); known && leader.Beyond(c.cfg.MaxOffset) {
		return now.Add(leader.Ahead)
	}
	return now
}

// Now returns the time to record for a change that is made now. The leader uses its own clock to decide which runs are due. So if
// this process's clock differs from the leader's by more than noise, Now returns the leader's time. If this clock is wrong and
// the leader's time is unknown, Now returns an error, and the process must change nothing. Now waits for the first comparison of
// the clocks.
func (c *Clocks) Now(ctx context.Context) (time.Time, error) {
	select {
	case <-c.peers.Judged():
	case <-ctx.Done():
		return time.Time{}, context.Cause(ctx)
	}
	now := c.cfg.Now()
	if c.leads() { // or this clock was set a moment ago, and the term is about to end
		return c.own.Now(now).UTC(), nil
	}
	leader, known := c.leader.Offset(now)
	wrong := c.peers.Trusted()
	switch {
	case known && leader.Beyond(c.cfg.MaxOffset):
		return now.Add(leader.Ahead).UTC(), nil
	case !known && wrong != nil:
		return time.Time{}, fmt.Errorf("replica %s has a wrong clock and knows of no leader's: %w: "+
			"ask another replica, and set this one's clock right: %w",
			c.cfg.Name, wrong, api.ErrUnavailable)
	}
	return now.UTC(), nil
}

// Tolerance returns how far the clocks of the replicas may differ, as the settings say.
func (c *Clocks) Tolerance() time.Duration { return c.cfg.MaxOffset }
