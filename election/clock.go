package election

import (
	"fmt"
	"time"
)

const (
	// clockTick is how often clocks are compared, and so how long a jump can go unnoticed.
	clockTick = 250 * time.Millisecond
	// maxJump is how far two clocks may drift apart within one tick. It is generous towards a preempted process, whose
	// readings are not taken at one instant, and small against any margin.
	maxJump = time.Second
)

// Clock reads this machine's clocks. The zero Clock of a config means SystemClock.
type Clock func() Reading

// Reading is what the three clocks say at one instant.
type Reading struct {
	Mono time.Time     // deadlines are computed on it; carries Go's monotonic reading, which stands still in suspend
	Wall time.Time     // civil time without a monotonic reading; may be set to anything at any time
	Boot time.Duration // since boot, suspension included; zero where the platform does not offer it
}

// SystemClock reads the clocks of the machine we run on.
func SystemClock() Reading { return atOnce(readClocks) }

func readClocks() Reading {
	now := time.Now()
	return Reading{Mono: now, Wall: now.Round(0).UTC(), Boot: sinceBoot()}
}

const (
	readFor   = 10 * time.Millisecond // how far apart the clocks of a Reading may have been read
	readTries = 10
)

// atOnce reads the clocks without being preempted in between for long, which would look as if one of them had been set; after
// readTries it takes what it has.
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

// suspendedSince returns ErrClockJumped if the machine was suspended between the two readings, as far as the platform
// tells: a deadline on the monotonic clock then looks further away than it is.
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
