package worker

import (
	"sync"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// What is armed ahead of its time is claimed a little before it, so that nothing has to be written between its time and its
// start: twice as long as a claim has lately taken, from claimAhead to claimMost, and claimCost more for each other run that this
// worker holds for the same instant, by which the claims of a herd spread over the time before it.
const (
	claimAhead = 25 * time.Millisecond
	claimMost  = 250 * time.Millisecond
	claimCost  = 100 * time.Microsecond
	instant    = 10 * time.Millisecond // runs that are due within it are due together
)

// early is how long before its time a run is claimed: at most half of the time for which it is here, the rest of which is for
// taking it back. One that nobody may repeat is claimed in its time: if we died in between, it would be lost without having
// begun.
func (s *shift) early(g *given, spec *job.Spec) time.Duration {
	ahead := g.run.Due.Sub(g.run.Armed)
	if g.run.Armed.IsZero() || ahead <= 0 || spec.Delivery == job.AtMostOnce {
		return 0
	}
	s.w.mu.Lock()
	others := s.crowds[crowdOf(g.run.Due)] - 1
	s.w.mu.Unlock()
	usual := min(max(claimAhead, 2*s.w.claims.slowest(s.w.now())), claimMost)
	return min(usual+time.Duration(max(0, others))*claimCost, ahead/2)
}

// lately is for how long what a claim took is remembered, at least; at most twice as long.
const lately = 10 * time.Second

// pace knows how long claims take. The zero value knows of none.
type pace struct {
	mu      sync.Mutex
	since   time.Time     // guarded by mu: when the present stretch of time began
	longest time.Duration // guarded by mu: of the claims since then
	before  time.Duration // guarded by mu: of those in the stretch before
}

// note takes down that a claim took from began to ended.
func (p *pace) note(began, ended time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn(ended)
	p.longest = max(p.longest, ended.Sub(began))
}

// slowest is how long a claim took at most lately.
func (p *pace) slowest(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn(now)
	return max(p.longest, p.before)
}

// turn begins another stretch if it is time. p.mu is held.
func (p *pace) turn(now time.Time) {
	switch past := now.Sub(p.since); {
	case past >= 2*lately:
		p.since, p.longest, p.before = now, 0, 0
	case past >= lately:
		p.since, p.longest, p.before = now, 0, p.longest
	}
}

func crowdOf(due time.Time) int64 { return due.UnixNano() / int64(instant) }

// gather counts h among those of its instant. w.mu is held.
func (s *shift) gather(h *hold) {
	h.crowd = crowdOf(h.run.Due)
	s.crowds[h.crowd]++
}

// disperse undoes gather. w.mu is held.
func (s *shift) disperse(h *hold) {
	if s.crowds[h.crowd]--; s.crowds[h.crowd] <= 0 {
		delete(s.crowds, h.crowd)
	}
}

// clockError is by how much two clocks may seem to differ that do not.
const clockError = 20 * time.Millisecond

// beginning is when run is due by the leader's clock, on ours. The leader wrote down when it armed the run, and what has
// passed since is at least the time since we received it, counted on the monotonic clock: what our wall clock says, and whether
// it is stepped, changes nothing. Who knows what the leader's clock shows knows how long the order took, too. But a difference
// that is within what can be known of another clock is none: then nothing begins before its time by our own clock, which is
// what a job sees.
func (w *Worker) beginning(run *job.Run, received time.Time) time.Time {
	var theirs time.Time // what the leader's clock showed at now, at least; asked before, since we may be held up in between
	if w.cfg.LeaderNow != nil {
		if at, known := w.cfg.LeaderNow(run.Term); known {
			theirs = at
		}
	}
	now := w.now()
	own := run.Due.Sub(now)
	if run.Armed.IsZero() {
		return now.Add(own)
	}
	if since := run.Armed.Add(now.Sub(received)); theirs.Before(since) {
		theirs = since
	}
	left := run.Due.Sub(theirs)
	if left < own && own <= left+clockError {
		left = own
	}
	return now.Add(left)
}

// startOf is when an attempt that is claimed now begins, as its record says it. The number of the claim is in it, so that no two of
// one run have the same start.
func startOf(begins, now time.Time, number int64) time.Time {
	if !begins.After(now) {
		return now.UTC().Round(0)
	}
	return begins.UTC().Round(0).Add(time.Duration(number) % claimCost)
}
