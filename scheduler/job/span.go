package job

import "time"

// clockSlack is how much later than it could have begun an attempt is believed to have begun: longer than orders are under
// way, as a rule.
const clockSlack = 10 * time.Second

// Span is when an attempt of r that is over, the i-th of those that its record keeps, began and ended, by the clocks of the
// leaders. The record has it by its worker's clock, which may be wrong: its beginning is believed as far as what leaders wrote
// bears it out, and how long it took in any case.
func (r *Run) Span(i int) (began, ended time.Time) {
	a := &r.Attempts[i]
	began = a.Started
	if i < len(r.Attempts)-1 || r.State == Armed || r.State == Running { // it was over when the next one was given out
		began = Later(Earlier(began, r.Armed), Later(r.Created, r.Slot))
	} else {
		from := Later(r.Armed, r.Slot)    // it may have been armed long before its slot
		if a.Finished.Equal(r.Finished) { // or else it waits for another one, and Due is of that
			from = Later(from, r.Due)
		}
		began = believed(began, from)
	}
	if a.GivenUp { // by a leader
		return Earlier(began, a.Finished), a.Finished
	}
	return began, began.Add(max(0, a.Finished.Sub(a.Started)))
}

// Began is when the present attempt of a run that is running began, by the clocks of the leaders; see Span.
func (r *Run) Began() time.Time { return believed(r.Started, Later(r.Armed, r.Due)) }

// believed is when an attempt began that says when by its worker's clock, and did not before from.
func believed(started, from time.Time) time.Time {
	if started.Before(from) || started.After(from.Add(clockSlack)) {
		return from
	}
	return started
}

// Ended is when a run that has ended did, by the clocks of the leaders; see Span.
func (r *Run) Ended() time.Time {
	n := len(r.Attempts)
	if n == 0 || !r.Attempts[n-1].Finished.Equal(r.Finished) { // nobody was at work
		return r.Finished
	}
	_, ended := r.Span(n - 1)
	return ended
}

// Later is the later of two instants.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Earlier is the earlier of two instants.
func Earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
