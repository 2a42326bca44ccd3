package sim

import (
	"sync"
	"time"

	"github.com/rota-scheduler/rota/election"
)

// clock is the wall clock of a machine, which may be wrong, and may be set. The monotonic one is the simulation's.
type clock struct {
	mu     sync.Mutex
	offset time.Duration // guarded by mu
	past   []setting     // guarded by mu: in the order of time, the present one last
}

// setting is what a clock was set to, and when.
type setting struct {
	at     time.Time
	offset time.Duration
}

func (c *clock) ahead() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.offset
}

func (c *clock) set(offset time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset = offset
	c.past = append(c.past, setting{time.Now(), offset})
}

// most is how far the clock was ahead at the most, between two instants.
func (c *clock) most(from, to time.Time) (most time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, s := range c.past {
		if !s.at.After(to) && (i+1 == len(c.past) || !c.past[i+1].at.Before(from)) {
			most = max(most, s.offset)
		}
	}
	return most
}

// now is what the wall clock says. It carries no monotonic reading, which would tell the truth.
func (c *clock) now() time.Time { return time.Now().Add(c.ahead()).Round(0) }

// reading is what the elector and the presences see. A bubble's machines boot an hour before it begins.
func (c *clock) reading() election.Reading {
	now := time.Now()
	return election.Reading{Mono: now, Wall: c.now().UTC(), Boot: now.Sub(bubbleBegan) + time.Hour}
}

// bubbleBegan is when the time of every bubble of testing/synctest begins.
var bubbleBegan = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
