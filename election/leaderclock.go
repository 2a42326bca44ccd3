package election

import (
	"sync"
	"time"
)

// LeaderClock is a lower bound of the time that the leader's clock shows, from the answers of its replica. Runs that were armed
// ahead start by it, so neither the error of our own clock nor the delay of their orders makes a difference. The zero value
// knows no leader. Its methods are safe for concurrent use.
type LeaderClock struct {
	// Clock reads the clocks of this machine, to detect that it was suspended. Nil means that it is never suspended.
	Clock Clock

	mu       sync.Mutex
	term     int64         // guarded by mu: of the replica that answered; zero: no replica has answered
	shown    time.Time     // guarded by mu: the leader's clock showed at least this at received
	received time.Time     // guarded by mu: on the monotonic clock
	took     time.Duration // guarded by mu: the leader's clock showed at most shown + took at received
	ours     Reading       // guarded by mu: our clocks before the request; zero without Clock
}

const (
	// maxStep is the largest step ahead of the leader's clock that LeaderClock accepts while its last answer is
	// recent. A leader whose clock was set ahead by more loses its term. Until then, no run starts by the new time.
	maxStep = time.Second
	// leaderClockAge is how long an answer counts unless a later one is more exact. In that time, clocks that run at different
	// speeds drift apart by less than a millisecond. Runs do not start by an older answer: the leader's clock may have been set
	// back since, by too little to end the term.
	leaderClockAge = 10 * time.Second
	// leaderClockExpiry is how long Offset uses the last answer.
	leaderClockExpiry = 30 * time.Second
)

// Record takes an answer of the replica that leads term. The replica's clock showed answered. We received the answer at
// received, and had sent the request took earlier. Record uses the answer if it is the most exact one, or shows that
// the clock has been set. If the last answer is old, Record uses any answer. sent is what Clock read before the request, so that a
// suspension during the request shows.
func (l *LeaderClock) Record(term int64, answered time.Time, took time.Duration, received time.Time, sent Reading) {
	if term == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	elapsed := received.Sub(l.received)
	least := l.shown.Add(elapsed)
	old := elapsed > leaderClockAge || sent.suspendedSince(l.ours) != nil
	if term == l.term && !old && answered.Sub(least) > l.took+maxStep {
		return
	}
	if term > l.term || term == l.term && (old || answered.After(least) || least.After(answered.Add(took))) {
		l.term, l.shown, l.received, l.took, l.ours = term, answered.Round(0), received, took, sent
	}
}

// elapsedLocked returns the time since the last answer. If the machine was suspended since, the monotonic clock did not count that
// time, and elapsedLocked returns false.
func (l *LeaderClock) elapsedLocked() (time.Duration, bool) {
	if l.Clock == nil {
		return time.Since(l.received), true
	}
	return time.Since(l.received), l.Clock().suspendedSince(l.ours) == nil
}

// Now returns a lower bound of the time that the clock of the leader of term shows now; false if no recent answer of it is
// known.
func (l *LeaderClock) Now(term int64) (time.Time, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	elapsed, known := l.elapsedLocked()
	if term == 0 || term != l.term || elapsed > leaderClockAge || !known {
		return time.Time{}, false
	}
	return l.shown.Add(elapsed), true
}

// Offset returns how far the clock of the last known leader is ahead of ours, which shows now; false if no recent answer is
// known.
func (l *LeaderClock) Offset(now time.Time) (Offset, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	elapsed, known := l.elapsedLocked()
	if l.term == 0 || elapsed > leaderClockExpiry || !known {
		return Offset{}, false
	}
	ahead := l.shown.Add(elapsed + l.took/2).Sub(now)
	return Offset{Ahead: ahead, Uncertainty: l.took / 2, At: now}, true
}

// OwnClock is our own clock since our term began. It ignores later settings of the clock to a later time. Its methods are safe for
// concurrent use.
type OwnClock struct {
	mu    sync.Mutex
	shown time.Time // guarded by mu: our clock at the start
	start time.Time // guarded by mu: the start, on the monotonic clock
}

// Start records that our clock shows now when our term begins.
func (o *OwnClock) Start(now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.shown, o.start = now.Round(0), time.Now()
}

// Now returns shows, the time on our clock. If our clock was set ahead after Start, it returns the time without that
// step.
func (o *OwnClock) Now(shows time.Time) time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	if least := o.shown.Add(time.Since(o.start)); least.Before(shows) {
		return least
	}
	return shows
}
