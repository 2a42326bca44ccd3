package job

import "time"

// clockSlack is the longest delay of a plausible begin, counted from the earliest possible one. Orders usually arrive
// sooner.
const clockSlack = 10 * time.Second

// Span returns when the i-th kept attempt of r began and ended, by the clocks of the leaders. The record has the times
// of the worker's clock, which may be wrong. Span uses the worker's begin only if it agrees with the times that leaders
// wrote. It always uses the duration by the worker's clock.
func (r *Run) Span(i int) (began, ended time.Time) {
	a := &r.Attempts[i]
	began = a.Started
	if i < len(r.Attempts)-1 || r.State == Armed || r.State == Running { // it ended before the next one was armed
		began = Later(Earlier(began, r.Armed), Later(r.Created, r.Slot))
	} else {
		from := Later(r.Armed, r.Slot)    // it may have been armed long before its slot
		if a.Finished.Equal(r.Finished) { // otherwise Due is that of the next attempt
			from = Later(from, r.Due)
		}
		began = plausible(began, from)
	}
	if a.GivenUp { // by a leader
		return Earlier(began, a.Finished), a.Finished
	}
	return began, began.Add(max(0, a.Finished.Sub(a.Started)))
}

// Began returns when the present attempt of a running run began, by the clocks of the leaders; see Span.
func (r *Run) Began() time.Time { return plausible(r.Started, Later(r.Armed, r.Due)) }

// FirstBegan returns when the first kept attempt of r began, by the clocks of the leaders; zero if r has no attempt.
func (r *Run) FirstBegan() time.Time {
	switch {
	case len(r.Attempts) > 0:
		began, _ := r.Span(0)
		return began
	case r.State == Running:
		return r.Began()
	}
	return time.Time{}
}

// plausible returns started, which the worker's clock measured, if it is soon after from, the earliest possible begin.
// Otherwise it returns from.
func plausible(started, from time.Time) time.Time {
	if started.Before(from) || started.After(from.Add(clockSlack)) {
		return from
	}
	return started
}

// Ended returns when a terminal run ended, by the clocks of the leaders; see Span.
func (r *Run) Ended() time.Time {
	n := len(r.Attempts)
	if n == 0 || !r.Attempts[n-1].Finished.Equal(r.Finished) { // no attempt ended it
		return r.Finished
	}
	_, ended := r.Span(n - 1)
	return ended
}

// Later returns the later of two instants.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Earlier returns the earlier of two instants.
func Earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
