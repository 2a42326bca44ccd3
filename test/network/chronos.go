package network

import (
	"time"

	"github.com/rota-scheduler/rota/test/history"
)

// Chronos has the facts about a job that Jepsen's checker of Chronos uses. They come from the submission, not from rota's
// records.
type Chronos struct {
	Name     string
	Start    time.Time // the first possible target
	Interval time.Duration
	Count    int           // number of targets
	Epsilon  time.Duration // how late a run may start
	Duration time.Duration // length of a run
}

// Execution is one run of a job by its own notes: on which host, when it began, and when it ended.
type Execution struct {
	Job, Run, Host string
	Began, Ended   time.Time // Ended is zero if it did not end
}

// forgiveness is how much later than its epsilon a run may start, as in Jepsen's test.
const forgiveness = 5 * time.Second

// windows returns a window for each target of a job before the final read. A run must start in the window. The window is
// optional if this run may end after the read. Slots of rota are multiples of the interval since 1970, so the first target is
// the first multiple from Start on.
func (c Chronos) windows(read time.Time) (windows []history.Window) {
	every := int64(c.Interval)
	first := (c.Start.UnixNano() + every - 1) / every * every
	for k := range c.Count {
		at := time.Unix(0, first+int64(k)*every)
		if at.After(read) {
			break
		}
		last := at.Add(c.Epsilon + forgiveness)
		windows = append(windows, history.Window{From: at, To: last, Optional: !last.Add(c.Duration).Before(read)})
	}
	return windows
}

// fit is the result of matching the executions of a job with its targets.
type fit struct {
	targets    int // number of targets that had to be met
	missed     []history.Window
	extra      []Execution // complete executions without a target
	incomplete int         // number of executions without an end; they meet no target
}

// fitting finds for each target one complete execution that started in its window.
func (c Chronos) fitting(executions []Execution, read time.Time) (f fit) {
	var complete []Execution
	var began []time.Time
	for _, e := range executions {
		if e.Ended.IsZero() {
			f.incomplete++
			continue
		}
		complete, began = append(complete, e), append(began, e.Began)
	}
	windows := c.windows(read)
	for _, w := range windows {
		if !w.Optional {
			f.targets++
		}
	}
	m := history.Match(windows, began)
	for _, i := range m.Missed(windows) {
		f.missed = append(f.missed, windows[i])
	}
	for _, i := range m.Extra() {
		f.extra = append(f.extra, complete[i])
	}
	return f
}
