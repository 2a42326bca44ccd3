package network

import (
	"testing"
	"time"
)

// TestFitting tests the checker: each history has one violation or none.
func TestFitting(t *testing.T) {
	start := time.Unix(1_800_000_000, 0) // a multiple of the interval
	job := Chronos{Name: "a", Start: start.Add(-time.Second), Interval: 30 * time.Second, Count: 4, Epsilon: 10 * time.Second, Duration: 2 * time.Second}
	at := func(seconds ...int) (list []Execution) {
		for _, s := range seconds {
			began := start.Add(time.Duration(s) * time.Second)
			list = append(list, Execution{Job: "a", Began: began, Ended: began.Add(job.Duration)})
		}
		return list
	}
	unfinished := at(0, 30, 60, 90)
	unfinished[2].Ended = time.Time{}
	for name, c := range map[string]struct {
		executions                         []Execution
		read                               int // seconds after the start
		targets, missed, extra, incomplete int
	}{
		"every target met":                   {at(0, 31, 69, 105), 3600, 4, 0, 0, 0},
		"at the very end of its forgiveness": {at(15, 45, 75, 105), 3600, 4, 0, 0, 0},
		"one missed":                         {at(0, 30, 90), 3600, 4, 1, 0, 0},
		"one too late":                       {at(0, 30, 76, 90), 3600, 4, 1, 1, 0},
		"one too early":                      {at(-1, 30, 60, 90), 3600, 4, 1, 1, 0},
		"one twice":                          {at(0, 30, 31, 60, 90), 3600, 4, 0, 1, 0},
		"two in a window and none in one":    {at(0, 1, 60, 90), 3600, 4, 1, 1, 0},
		"one more than were asked for":       {at(0, 30, 60, 90, 120), 3600, 4, 0, 1, 0},
		"one that did not end":               {unfinished, 3600, 4, 1, 0, 1},
		"read before the last is due":        {at(0, 30, 60), 100, 3, 0, 0, 0},
		"read before, and it came":           {at(0, 30, 60, 91), 100, 3, 0, 0, 0},
		"read before, and it came twice":     {at(0, 30, 60, 91, 92), 100, 3, 0, 1, 0},
		"nothing, and nothing is due":        {nil, 10, 0, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := job.fitting(c.executions, start.Add(time.Duration(c.read)*time.Second))
			if f.targets != c.targets || len(f.missed) != c.missed || len(f.extra) != c.extra || f.incomplete != c.incomplete {
				t.Errorf("got %+v, want %d targets, %d missed, %d extra and %d incomplete", f, c.targets, c.missed, c.extra, c.incomplete)
			}
		})
	}
}
