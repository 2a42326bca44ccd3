package network

import (
	"testing"
	"time"
)

// TestMatch judges the checker: each history breaks one thing, or nothing.
func TestMatch(t *testing.T) {
	start := time.Unix(1_800_000_000, 0) // a multiple of the interval
	job := Chronos{Name: "a", Start: start.Add(-time.Second), Interval: 30 * time.Second, Count: 4, Epsilon: 10 * time.Second, Duration: 2 * time.Second}
	at := func(seconds ...int) (list []Execution) {
		for _, s := range seconds {
			began := start.Add(time.Duration(s) * time.Second)
			list = append(list, Execution{Job: "a", Began: began, Ended: began.Add(job.Duration)})
		}
		return list
	}
	late := start.Add(time.Hour)
	unfinished := at(0, 30, 60, 90)
	unfinished[2].Ended = time.Time{}
	stranger := append(at(0, 30, 60, 90), Execution{Job: "b", Began: start, Ended: start.Add(time.Second)})
	for name, c := range map[string]struct {
		executions                         []Execution
		read                               time.Time
		targets, missed, extra, incomplete int
	}{
		"every target met":                   {at(0, 31, 69, 105), late, 4, 0, 0, 0},
		"one missed":                         {at(0, 30, 90), late, 4, 1, 0, 0},
		"one too late":                       {at(0, 30, 76, 90), late, 4, 1, 1, 0},
		"one too early":                      {at(-1, 30, 60, 90), late, 4, 1, 1, 0},
		"one twice":                          {at(0, 30, 31, 60, 90), late, 4, 0, 1, 0},
		"one more than were asked for":       {at(0, 30, 60, 90, 120), late, 4, 0, 1, 0},
		"one that did not end":               {unfinished, late, 4, 1, 0, 1},
		"another job's":                      {stranger, late, 4, 0, 0, 0},
		"read before the last had to come":   {at(0, 30, 60), start.Add(100 * time.Second), 3, 0, 0, 0},
		"read before, and it came":           {at(0, 30, 60, 91), start.Add(100 * time.Second), 3, 0, 0, 0},
		"read before, and it came twice":     {at(0, 30, 60, 61, 91), start.Add(100 * time.Second), 3, 0, 1, 0},
		"nothing, and nothing had to come":   {nil, start, 0, 0, 0, 0},
		"two in a window and none in one":    {at(0, 1, 60, 90), late, 4, 1, 1, 0},
		"at the very end of its forgiveness": {at(15, 45, 75, 105), late, 4, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			m := Match(job, c.executions, c.read)
			if m.Targets != c.targets || len(m.Missed) != c.missed || len(m.Extra) != c.extra || len(m.Incomplete) != c.incomplete {
				t.Errorf("got %d targets, missed %v, extra %v, incomplete %v; want %d, %d, %d and %d", m.Targets, m.Missed, m.Extra, m.Incomplete,
					c.targets, c.missed, c.extra, c.incomplete)
			}
		})
	}
}
