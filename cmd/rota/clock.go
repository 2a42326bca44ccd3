//go:build !faultclock

package main

import "time"

// wallClock is what this process takes for the time.
func wallClock() time.Time { return time.Now() }
