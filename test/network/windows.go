package network

import (
	"cmp"
	"slices"
	"time"
)

// Chronos is a job as the checker of Jepsen's Chronos test knows it: what was asked for, and nothing of how rota keeps it.
type Chronos struct {
	Name     string
	Start    time.Time // no target before it
	Interval time.Duration
	Count    int           // of targets
	Epsilon  time.Duration // how late a run may begin
	Duration time.Duration // how long a run takes
}

// Execution is what one run of a job wrote down: on which host, when it began, and when it ended.
type Execution struct {
	Job, Run, Host string
	Began, Ended   time.Time // Ended is zero if it did not end
}

// forgiveness is how much later than its epsilon a run may begin, as in Jepsen's test.
const forgiveness = 5 * time.Second

// window is a target: a run must begin in it, both ends included.
type window struct{ from, to time.Time }

// targets lists the windows of a job of which something must have come by a final read. Slots of rota lie on multiples of
// the interval since 1970, so the first is the first of those from Start on.
func (c Chronos) targets(read time.Time) (windows []window) {
	every := int64(c.Interval)
	first := (c.Start.UnixNano() + every - 1) / every * every
	for k := range c.Count {
		at := time.Unix(0, first+int64(k)*every)
		if !at.Before(read.Add(-c.Epsilon - c.Duration - forgiveness)) {
			break
		}
		windows = append(windows, window{at, at.Add(c.Epsilon + forgiveness)})
	}
	return windows
}

// Matching says how the executions of a job fit its targets.
type Matching struct {
	Targets    int
	Missed     []time.Time // targets that nothing fits
	Extra      []Execution // complete, and fit no target that nothing else fits
	Incomplete []Execution // begun and not ended: these fit nothing
}

// Match finds for each target one complete execution that began in its window, each for one target. It finds as many as can
// be found: windows are intervals and executions points, so whichever window ends first takes the earliest.
func Match(c Chronos, executions []Execution, read time.Time) (m Matching) {
	var complete []Execution
	for _, e := range executions {
		switch {
		case e.Job != c.Name:
		case e.Ended.IsZero():
			m.Incomplete = append(m.Incomplete, e)
		default:
			complete = append(complete, e)
		}
	}
	slices.SortFunc(complete, func(a, b Execution) int { return a.Began.Compare(b.Began) })
	windows := c.targets(read)
	slices.SortFunc(windows, func(a, b window) int { return cmp.Or(a.to.Compare(b.to), a.from.Compare(b.from)) })
	used := make([]bool, len(complete))
	m.Targets = len(windows)
	for _, w := range windows {
		i := slices.IndexFunc(complete, func(e Execution) bool { return !e.Began.Before(w.from) && !e.Began.After(w.to) })
		for i >= 0 && i < len(complete) && used[i] {
			i++
		}
		if i < 0 || i == len(complete) || complete[i].Began.After(w.to) {
			m.Missed = append(m.Missed, w.from)
			continue
		}
		used[i] = true
	}
	// What came for a target that need not have been met yet is not too much.
	young := Chronos{Start: c.Start, Interval: c.Interval, Count: c.Count, Epsilon: c.Epsilon}.targets(read.Add(24 * time.Hour))
	for i, e := range complete {
		due := slices.IndexFunc(young[m.Targets:], func(w window) bool { return !e.Began.Before(w.from) && !e.Began.After(w.to) })
		if !used[i] && due < 0 {
			m.Extra = append(m.Extra, e)
		}
	}
	return m
}
