package node

import (
	"sync"
	"time"
)

// leaderClock knows the least that the leader's clock may show, from what its replica answered. Runs that were armed ahead
// begin by it, so that neither our own clock nor the time that their orders took makes a difference.
type leaderClock struct {
	mu    sync.Mutex
	term  int64         // guarded by mu: of the replica that answered, zero: none has
	shown time.Time     // guarded by mu: what its clock showed at heard, at the least
	heard time.Time     // guarded by mu: by the monotonic clock
	took  time.Duration // guarded by mu: how much more it may have shown, at most
}

// setAhead is how far the clock of a leader may get ahead of what is known of it. One that was set ahead by more costs the leader
// its term; until that is over nothing begins by it.
const setAhead = time.Second

// leaderClockAge is how long an answer counts, if no later one is sharper: in that time, clocks that run at different speeds
// come apart by less than a millisecond.
const leaderClockAge = 10 * time.Second

// note takes over the answer of the replica that leads term, which its clock dates answered, and which was asked for took
// before heard. It counts if it is the sharpest, or shows that the clock has been set.
func (l *leaderClock) note(term int64, answered time.Time, took time.Duration, heard time.Time) {
	if term == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	elapsed := heard.Sub(l.heard)
	least := l.shown.Add(elapsed)
	if term == l.term && answered.Sub(least) > l.took+setAhead {
		return
	}
	if term > l.term || term == l.term && (elapsed > leaderClockAge || answered.After(least) || least.After(answered.Add(took))) {
		l.term, l.shown, l.heard, l.took = term, answered.Round(0), heard, took
	}
}

// now returns the least that the clock of the leader of term shows now, false if it has not told.
func (l *leaderClock) now(term int64) (time.Time, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	elapsed := time.Since(l.heard)
	if term == 0 || term != l.term || elapsed > measureAge {
		return time.Time{}, false
	}
	return l.shown.Add(elapsed), true
}

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
