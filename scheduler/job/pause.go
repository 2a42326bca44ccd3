package job

import "time"

// Pause records that a job, or all jobs, dispatch nothing. Slots that pass meanwhile are skipped with the reason "paused".
type Pause struct {
	At     time.Time `json:"at"`
	By     string    `json:"by,omitempty"`
	Reason string    `json:"reason,omitempty"`
}

// PastPause is a pause that is over. What was owed when it began still is.
type PastPause struct {
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
}

// maxPauses bounds how many pauses a record remembers. They are needed as long as slots are undecided that passed before them
// or in them.
const maxPauses = 8

// Halt pauses the job, or resumes it if p is nil, and says whether anything changed. Slots that pass while it is paused
// are skipped.
func (j Job) SetPause(p *Pause, now time.Time) (Job, bool) {
	if (p == nil) == (j.Paused == nil) {
		return j, false
	}
	if p == nil {
		j.Since, j.SinceReason = now, SinceResumed
		j.Pauses = remember(j.Pauses, j.Paused, now)
	}
	j.Paused = p
	return j, true
}

// Halt is Job.Halt for all jobs.
func (g Gate) SetPause(p *Pause, now time.Time) (Gate, bool) {
	if (p == nil) == (g.Paused == nil) {
		return g, false
	}
	if p == nil {
		g.Since = now
		g.Pauses = remember(g.Pauses, g.Paused, now)
	}
	g.Paused = p
	return g, true
}

// remember is list with p, which ends at now. Of too many the first two become one, with what lies between them.
func remember(list []PastPause, p *Pause, now time.Time) []PastPause {
	next := make([]PastPause, 0, len(list)+1)
	next = append(append(next, list...), PastPause{From: p.At, Until: now})
	if len(next) > maxPauses {
		next[1].From = next[0].From
		next = next[1:]
	}
	return next
}

// Halted are the times in which the job was paused. Records of earlier builds have no more than the end of the last pause: then
// nothing from before it is owed.
func (j *Job) PauseHistory() []PastPause {
	if j.SinceReason != SinceResumed {
		return j.Pauses
	}
	return halted(j.Pauses, j.Since)
}

// Halted is Job.Halted for all jobs.
func (g *Gate) PauseHistory() []PastPause { return halted(g.Pauses, g.Since) }

func halted(list []PastPause, resumed time.Time) []PastPause {
	if n := len(list); resumed.IsZero() || n > 0 && list[n-1].Until.Equal(resumed) {
		return list
	}
	return []PastPause{{Until: resumed}}
}
