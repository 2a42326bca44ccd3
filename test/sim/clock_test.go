package sim

import (
	"sync"
	"time"

	"github.com/rota-scheduler/rota/election"
)

// clock is the wall clock of a machine. It may be wrong, and may be set. The monotonic clock is that of the simulation.
type clock struct {
	mu     sync.Mutex
	offset time.Duration // guarded by mu
	past   []setting     // guarded by mu: in the order of time, the present setting is the last
}

// setting is an offset of a clock, and when it was set.
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

// most returns the largest offset of the clock between two instants.
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

// now returns the time of the simulated wall clock. It removes the monotonic reading, which does not have the error of the
// simulated clock.
func (c *clock) now() time.Time { return time.Now().Add(c.ahead()).Round(0) }

// reading returns the clocks for the elector and the presences. The machines boot an hour before the bubble begins.
func (c *clock) reading() election.Reading {
	now := time.Now()
	return election.Reading{Mono: now, Wall: c.now().UTC(), Boot: now.Sub(bubbleBegan) + time.Hour}
}

// bubbleBegan is the start of the time of every bubble of testing/synctest.
var bubbleBegan = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
