package scheduler

import (
	"fmt"
	"time"

	"github.com/rota-scheduler/rota/election"
)

// Between two checks, the wall clock and the monotonic clock may diverge by maxJump, plus 1/maxDrift of the elapsed time. A
// larger difference means that the wall clock was set.
const (
	maxJump  = time.Second
	maxDrift = 1000 // twice as fast as the usual slewing of a clock
)

// clocks detects that the wall clock was set, before a decision uses the new time. With a wrong clock, the leader would skip or
// start slots, and could not undo that. The elector detects it too, but up to 0.25 s later.
type clocks struct{ wall, mono time.Time }

func readClocks(now time.Time) clocks { return clocks{wall: now.Round(0), mono: time.Now()} }

// jump returns by how much the wall clock was set since the last call; 0 if it was not. now is the present time of that clock.
func (c *clocks) jump(now time.Time) time.Duration {
	next := readClocks(now)
	elapsed := next.mono.Sub(c.mono)
	jump := next.wall.Sub(c.wall) - elapsed
	*c = next
	if jump.Abs() <= maxJump+elapsed/maxDrift {
		return 0
	}
	return jump
}

// checkClock returns election.ErrClockJumped if the wall clock, which shows now, was set since the last check. The planner knows it
// then.
func (s *Scheduler) checkClock(now time.Time) error {
	jump := s.clocks.jump(now)
	if jump == 0 {
		return nil
	}
	s.planner.ClockSet(jump, now)
	return fmt.Errorf("%w: wall clock set by %v", election.ErrClockJumped, jump)
}
