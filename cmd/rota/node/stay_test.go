package node

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// observed is an observer with workers and runs that the test defines.
type observed struct {
	draining string           // the worker that drains
	running  map[string]int   // runs of each worker
	heard    func() time.Time // last time at which the watch was current; nil: now
	end      time.Time        // end of all runs; zero: they never end
}

func (c *observed) Workers() (workers []*job.Worker) {
	for name := range c.running {
		workers = append(workers, &job.Worker{Name: name, Draining: name == c.draining})
	}
	return workers
}

func (c *observed) RunsThat(keep func(*job.Run) bool) (runs []*job.Run) {
	if !c.end.IsZero() && !time.Now().Before(c.end) {
		return nil
	}
	for name, n := range c.running {
		for range n {
			if r := (&job.Run{Worker: name, State: job.Running}); keep(r) {
				runs = append(runs, r)
			}
		}
	}
	return runs
}

func (c *observed) Current() (int64, time.Time) {
	if c.heard != nil {
		return 1, c.heard()
	}
	return 1, time.Now()
}

func TestAMemberThatStopsStaysWhileOthersDrain(t *testing.T) {
	const limit = 30 * time.Second
	for name, c := range map[string]struct {
		others observed
		ends   time.Duration // when the runs of the others end
		want   time.Duration
	}{
		"nobody drains":                {observed{running: map[string]int{"q1": 1, "q2": 1}}, time.Hour, stayLeast},
		"what drains has nothing left": {observed{draining: "q2", running: map[string]int{"q1": 0, "q2": 0}}, time.Hour, stayLeast},
		"another one drains":           {observed{draining: "q2", running: map[string]int{"q1": 0, "q2": 1}}, 10 * time.Second, 10 * time.Second},
		"another one drains for ever":  {observed{draining: "q2", running: map[string]int{"q1": 0, "q2": 1}}, time.Hour, limit},
		"what is left is our own":      {observed{draining: "q1", running: map[string]int{"q1": 1, "q2": 1}}, time.Hour, stayLeast},
		"the store is silent": {
			observed{draining: "q2", running: map[string]int{"q2": 1}, heard: func() time.Time { return time.Now().Add(-time.Minute) }}, time.Hour, stayLeast,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				c.others.end = began.Add(c.ends)
				stay(&c.others, "q1", began.Add(limit), time.Now)
				if got := time.Since(began); got < c.want || got > c.want+stayPoll {
					t.Errorf("stayed for %v, want %v", got, c.want)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		stay(&observed{}, "q1", time.Time{}, time.Now)
		if got := time.Since(began); got > 0 {
			t.Errorf("one that was not told to stop stayed for %v", got)
		}
	})
}
