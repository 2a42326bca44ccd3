package scheduler

import (
	"fmt"
	"time"

	"github.com/rota-scheduler/rota/election"
)

// maxJump is how far wall and monotonic clock may come apart between two looks, besides maxDrift of the time in between.
const (
	maxJump  = time.Second
	maxDrift = 1000 // a thousandth: twice as fast as a clock is slewed
)

// clocks notices that the wall clock was set, before anything is decided by it. A slot that a wrong clock calls overdue is
// skipped or begun for good. The elector notices as well, a quarter of a second later.
type clocks struct{ wall, mono time.Time }

func startClocks(now time.Time) clocks { return clocks{wall: now.Round(0), mono: time.Now()} }

// check returns election.ErrClockJumped if the wall clock, which says now, was set since the last look.
func (c *clocks) check(now time.Time) error {
	next := startClocks(now)
	elapsed := next.mono.Sub(c.mono)
	jump := next.wall.Sub(c.wall) - elapsed
	*c = next
	if jump.Abs() <= maxJump+elapsed/maxDrift {
		return nil
	}
	return fmt.Errorf("%w: wall clock set by %v", election.ErrClockJumped, jump)
}
