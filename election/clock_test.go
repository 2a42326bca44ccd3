package election

import (
	"testing"
	"time"
)

// TestClocksAreReadAtOnce preempts the process between two clocks. It must read them again instead of finding a jump.
func TestClocksAreReadAtOnce(t *testing.T) {
	t.Parallel()
	start := time.Now()
	var passed time.Duration
	var reads int
	// machine returns a reader of simulated clocks: the wall clock is read before a preemption, the other clocks after it.
	machine := func(preempted func(read int) time.Duration) func() Reading {
		passed, reads = 0, 0
		return func() Reading {
			reads++
			wall := start.Add(passed).Round(0)
			passed += preempted(reads) + time.Microsecond
			return Reading{Mono: start.Add(passed), Wall: wall, Boot: passed}
		}
	}
	first := machine(func(int) time.Duration { return 0 })()
	for at := 1; at <= 6; at++ {
		r := atOnce(machine(func(read int) time.Duration {
			if read == at {
				return 2 * time.Second
			}
			return 0
		}))
		if err := r.jumpedSince(first); err != nil {
			t.Errorf("preempted in read %d: %v", at, err)
		}
	}
	atOnce(machine(func(int) time.Duration { return time.Second }))
	if most := 1 + 2*readTries; reads != most {
		t.Errorf("with a preemption in each read, the clocks were read %d times, want %d", reads, most)
	}
}
