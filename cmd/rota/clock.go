//go:build !faultclock

package main

import "time"

// wallClock returns the time of this machine. Builds with the tag faultclock replace this function.
func wallClock() time.Time { return time.Now() }
