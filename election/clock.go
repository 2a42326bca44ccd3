package election

import (
	"fmt"
	"time"
)

const (
	// clockTick is the time between two comparisons of the clocks. A jump is found at most this much later.
	clockTick = 250 * time.Millisecond
	// maxJump is how far two clocks may drift apart within one tick. It tolerates a process that is preempted between reading
	// one clock and the next, and it is small compared with any margin.
	maxJump = time.Second
)

// Clock reads the clocks of this machine. The zero Clock of a config means SystemClock.
type Clock func() Reading

// Reading is what the three clocks show at one instant.
type Reading struct {
	Mono time.Time     // for deadlines; has Go's monotonic reading, which stops while the machine is suspended
	Wall time.Time     // civil time without a monotonic reading; an operator may set it to anything at any time
	Boot time.Duration // since boot, including suspension; zero if the platform does not offer it
}

// SystemClock reads the clocks of the machine that this process runs on.
func SystemClock() Reading { return atOnce(readClocks) }

func readClocks() Reading {
	now := time.Now()
	return Reading{Mono: now, Wall: now.Round(0).UTC(), Boot: sinceBoot()}
}

const (
	readFor   = 10 * time.Millisecond // the clocks of one Reading are read within this time
	readTries = 10
)

// atOnce reads the clocks within readFor of each other. A longer preemption between two clocks would look as if one of them had
// been set. After readTries, atOnce returns the last reading unchecked.
func atOnce(read func() Reading) (r Reading) {
	before := read().Mono
	for range readTries {
		r = read()
		after := read().Mono
		if after.Sub(before) <= readFor {
			break
		}
		before = after
	}
	return r
}

// suspendedSince returns ErrClockJumped if the machine was suspended between the two readings. A deadline on the monotonic clock
// then seems further away than it is. Without a boot clock it returns nil.
func (r Reading) suspendedSince(earlier Reading) error {
	if r.Boot == 0 || earlier.Boot == 0 {
		return nil
	}
	jump := (r.Boot - earlier.Boot) - r.Mono.Sub(earlier.Mono)
	if jump.Abs() <= maxJump {
		return nil
	}
	return fmt.Errorf("%w: suspended for %v", ErrClockJumped, jump)
}

// jumpedSince returns ErrClockJumped if any two clocks disagree about the time between the two readings.
func (r Reading) jumpedSince(earlier Reading) error {
	if err := r.suspendedSince(earlier); err != nil {
		return err
	}
	jump := r.Wall.Sub(earlier.Wall) - r.Mono.Sub(earlier.Mono)
	if jump.Abs() <= maxJump {
		return nil
	}
	return fmt.Errorf("%w: wall clock set by %v", ErrClockJumped, jump)
}
