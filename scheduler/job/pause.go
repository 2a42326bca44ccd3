package job

import "time"

// Pause suspends the dispatch of a job, or of all jobs. Slots that pass meanwhile are skipped with the reason "paused".
type Pause struct {
	At     time.Time `json:"at"`
	By     string    `json:"by,omitempty"`
	Reason string    `json:"reason,omitempty"`
}

// resumedAt returns the end of p for a client that ends it at now. The end is later than the beginning, although the clock of the
// replica that began p may be ahead. A leader takes an earlier end for a change by hand.
func (p *Pause) resumedAt(now time.Time) time.Time { return Later(now, p.At.Add(1)) }

// PastPause is a pause that has ended. Slots that were undecided when it began are still dispatched.
type PastPause struct {
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
}

// MaxPauses bounds how many past pauses a record keeps. A pause is needed until all slots before its end are decided. The first
// of so many may stand for several pauses and the times between them.
const MaxPauses = 8

// SetPause returns the job paused by p, or resumed if p is nil, and whether anything changed. Slots that pass during
// the pause are skipped.
func (j Job) SetPause(p *Pause, now time.Time) (Job, bool) {
	if (p == nil) == (j.Paused == nil) {
		return j, false
	}
	if p == nil {
		j.Since, j.SinceReason = j.Paused.resumedAt(now), SinceResumed
		j.Pauses = remember(j.Pauses, j.Paused, j.Since)
	}
	j.Paused = p
	return j, true
}

// SetPause is Job.SetPause for all jobs.
func (g Gate) SetPause(p *Pause, now time.Time) (Gate, bool) {
	if (p == nil) == (g.Paused == nil) {
		return g, false
	}
	if p == nil {
		g.Since = g.Paused.resumedAt(now)
		g.Pauses = remember(g.Pauses, g.Paused, g.Since)
	}
	g.Paused = p
	return g, true
}

// remember returns list with p, which ends at now. If the list is too long, it joins the first two pauses, with the
// time between them, into one.
func remember(list []PastPause, p *Pause, now time.Time) []PastPause {
	next := make([]PastPause, 0, len(list)+1)
	next = append(append(next, list...), PastPause{From: p.At, Until: now})
	if len(next) > MaxPauses {
		next[1].From = next[0].From
		next = next[1:]
	}
	return next
}

// PauseHistory returns the times during which the job was paused. Records of earlier versions hold only the end of the
// last pause; then no slot before it runs.
func (j *Job) PauseHistory() []PastPause {
	if j.SinceReason != SinceResumed {
		return j.Pauses
	}
	return pauseHistory(j.Pauses, j.Since)
}

// PauseHistory is Job.PauseHistory for all jobs.
func (g *Gate) PauseHistory() []PastPause { return pauseHistory(g.Pauses, g.Since) }

// pausesAfter returns the past pauses that ended after a time; nil if there are none.
func (j *Job) pausesAfter(at time.Time) (list []PastPause) {
	for _, p := range j.PauseHistory() {
		if p.Until.After(at) {
			list = append(list, p)
		}
	}
	return list
}

func pauseHistory(list []PastPause, resumed time.Time) []PastPause {
	if n := len(list); resumed.IsZero() || n > 0 && list[n-1].Until.Equal(resumed) {
		return list
	}
	return []PastPause{{Until: resumed}}
}
