package election

import (
	"sync"
	"time"
)

// LeaderClock knows the least that the leader's clock may show, from what its replica answered. Runs that were armed ahead
// begin by it, so that neither our own clock nor the time that their orders took makes a difference. The zero value knows
// nothing; all methods may be called at any time from anywhere.
type LeaderClock struct {
	mu    sync.Mutex
	term  int64         // guarded by mu: of the replica that answered, zero: none has
	shown time.Time     // guarded by mu: what its clock showed at heard, at the least
	heard time.Time     // guarded by mu: by the monotonic clock
	took  time.Duration // guarded by mu: by so much it may have shown more at heard
}

// setAhead is how far the clock of a leader may get ahead of what is known of it. One that was set ahead by more costs the leader
// its term; until that is over nothing begins by it.
const setAhead = time.Second

// leaderClockAge is how long an answer counts, if no later one is sharper: in that time, clocks that run at different speeds
// come apart by less than a millisecond.
const leaderClockAge = 10 * time.Second

// leaderClockRest is how long what is known of a leader's clock outlives the last answer.
const leaderClockRest = 30 * time.Second

// Record takes over the answer of the replica that leads term, which its clock dates answered, and which was asked for took
// before heard. It counts if it is the sharpest, or shows that the clock has been set.
func (l *LeaderClock) Record(term int64, answered time.Time, took time.Duration, heard time.Time) {
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

// Now returns the least that the clock of the leader of term shows now, false if it has not told.
func (l *LeaderClock) Now(term int64) (time.Time, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	elapsed := time.Since(l.heard)
	if term == 0 || term != l.term || elapsed > leaderClockRest {
		return time.Time{}, false
	}
	return l.shown.Add(elapsed), true
}

// Offset is how far the clock of the latest leader that told is ahead of ours, which shows now; false if none has told lately.
func (l *LeaderClock) Offset(now time.Time) (Offset, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	elapsed := time.Since(l.heard)
	if l.term == 0 || elapsed > leaderClockRest {
		return Offset{}, false
	}
	ahead := l.shown.Add(elapsed + l.took/2).Sub(now)
	return Offset{Ahead: ahead, Uncertainty: l.took / 2, At: now}, true
}

// OwnClock is our own clock as it went when our term began: what it is set ahead by since does not count. All methods may be
// called at any time from anywhere.
type OwnClock struct {
	mu    sync.Mutex
	shown time.Time // guarded by mu
	heard time.Time // guarded by mu: when, by the monotonic clock
}

// Start notes what our clock shows as our term begins.
func (o *OwnClock) Start(now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.shown, o.heard = now.Round(0), time.Now()
}

// Now returns what our clock shows, or less.
func (o *OwnClock) Now(shows time.Time) time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	if least := o.shown.Add(time.Since(o.heard)); least.Before(shows) {
		return least
	}
	return shows
}
