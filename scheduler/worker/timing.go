package worker

import (
	"sync"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// A run that is armed ahead of its time is claimed shortly before it, so that no write delays its start. The lead is twice the
// latency of recent claims, between minLead and maxLead. minLead has room for the 20 ms that the store may wait until such a claim
// shares a transaction with others. Each other run that is due at the same instant adds claimCost to the lead. This spreads the
// claims of many runs over time.
const (
	minLead   = 50 * time.Millisecond
	maxLead   = 250 * time.Millisecond
	claimCost = 100 * time.Microsecond
	instant   = 10 * time.Millisecond // runs whose times lie within it count as due together
)

// claimLead returns how long before its time a run is claimed. It is at most half of the time between arming and start, so
// that the leader can still take the run back. A run that is delivered at most once gets no lead: a crash between claim and
// start would lose it.
func (s *shift) claimLead(run *job.Run, spec *job.Spec) time.Duration {
	ahead := run.Due.Sub(run.Armed)
	if run.Armed.IsZero() || ahead <= 0 || spec.Delivery == job.AtMostOnce {
		return 0
	}
	s.w.mu.Lock()
	others := s.dueCounts[dueKey(run.Due)] - 1
	s.w.mu.Unlock()
	lead := min(max(minLead, 2*s.w.claims.slowest(s.w.now())), maxLead)
	return min(lead+time.Duration(max(0, others))*claimCost, ahead/2)
}

// latencyWindow is the shortest time for which claimLatency remembers a claim. The longest is twice as long.
const latencyWindow = 10 * time.Second

// claimLatency measures how long claims take. The zero value is ready to use.
type claimLatency struct {
	mu       sync.Mutex
	since    time.Time     // guarded by mu: start of the current window
	current  time.Duration // guarded by mu: slowest claim of the current window
	previous time.Duration // guarded by mu: slowest claim of the window before
}

// record records a claim.
func (l *claimLatency) record(sent, answered time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rotate(answered)
	l.current = max(l.current, answered.Sub(sent))
}

// slowest returns the latency of the slowest recent claim; 0 if there is none.
func (l *claimLatency) slowest(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rotate(now)
	return max(l.current, l.previous)
}

// rotate starts another window if the current one is over. l.mu is held.
func (l *claimLatency) rotate(now time.Time) {
	switch age := now.Sub(l.since); {
	case age >= 2*latencyWindow:
		l.since, l.current, l.previous = now, 0, 0
	case age >= latencyWindow:
		l.since, l.current, l.previous = now, 0, l.current
	}
}

func dueKey(due time.Time) int64 { return due.UnixNano() / int64(instant) }

// countDue counts r among the runs of its instant. Worker.mu is held.
func (s *shift) countDue(r *armedRun) {
	r.dueKey = dueKey(r.latest.run.Due)
	s.dueCounts[r.dueKey]++
}

// uncountDue reverses countDue. Worker.mu is held.
func (s *shift) uncountDue(r *armedRun) {
	if s.dueCounts[r.dueKey]--; s.dueCounts[r.dueKey] <= 0 {
		delete(s.dueCounts, r.dueKey)
	}
}

// clockError is the largest difference between two clocks that is ignored.
const clockError = 20 * time.Millisecond

// startTime returns the time, on this machine's clock, at which run is due by the leader's clock.
//
// The leader recorded its time when it armed the run. At least the time since the order was received has passed since then,
// measured by the monotonic clock: a wrong or stepped wall clock here changes nothing. Config.LeaderNow also accounts for the
// transit time of the order. If both clocks differ by less than clockError, the run starts by the clock of this machine, which
// the job uses.
func (w *Worker) startTime(run *job.Run, received time.Time) time.Time {
	var leaderNow time.Time // read before now, so that a delay in between cannot start the run early
	if w.cfg.LeaderNow != nil {
		if at, known := w.cfg.LeaderNow(run.Term); known {
			leaderNow = at
		}
	}
	now := w.now()
	byOwnClock := run.Due.Sub(now)
	if run.Armed.IsZero() {
		return now.Add(byOwnClock)
	}
	if least := run.Armed.Add(now.Sub(received)); leaderNow.Before(least) {
		leaderNow = least
	}
	left := run.Due.Sub(leaderNow)
	if left < byOwnClock && byOwnClock <= left+clockError {
		left = byOwnClock
	}
	return now.Add(left)
}

// recordedStart returns the start that the record of a claim states: startAt, or now if that is later. If the claim is written
// before startAt, recordedStart adds a fraction that is made from the claim's number. So two claims of one run have different
// starts.
func recordedStart(startAt, now time.Time, number int64) time.Time {
	if !startAt.After(now) {
		return now.UTC().Round(0)
	}
	return startAt.UTC().Round(0).Add(time.Duration(number) % claimCost)
}

// maxTransit is the longest usual transit time of an order.
const maxTransit = 2 * time.Second

// leaderTime converts at to the leader's clock, by which runs become due. The leader's clock was read when it armed the run, and
// the monotonic clock counts the time since the run was received. Config.LeaderNow also accounts for the transit time of the order.
// A difference of up to maxTransit counts as transit time.
func (a *attempt) leaderTime(at time.Time) time.Time {
	if a.run.Armed.IsZero() {
		return at
	}
	leaders := a.run.Armed.Add(at.Sub(a.received))
	if w := a.shift.w; w.cfg.LeaderNow != nil {
		if now, known := w.cfg.LeaderNow(a.run.Term); known {
			leaders = job.Later(leaders, now.Add(at.Sub(w.now())))
		}
	}
	if ahead := at.Sub(leaders); 0 <= ahead && ahead <= maxTransit {
		return at
	}
	return leaders
}
