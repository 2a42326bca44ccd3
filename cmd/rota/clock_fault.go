//go:build faultclock

package main

import (
	"os"
	"strings"
	"time"
	"unsafe"
)

// faultClock is the variable that names the file with the error of this process's clock, such as 45s or -336h, in whole
// seconds. The file may be written anew at any time, as a clock may be set. Only builds with the tag faultclock know of it:
// tests of wrong clocks use them.
const faultClock = "FAULT_CLOCK_FILE"

// wallClock is a clock that is wrong by what the file says, and right without one. As on a machine whose clock was set, the
// monotonic clock goes on unmoved.
func wallClock() time.Time {
	now := time.Now()
	text, err := os.ReadFile(os.Getenv(faultClock))
	if err != nil {
		return now
	}
	wrong, err := time.ParseDuration(strings.TrimSpace(string(text)))
	if err != nil {
		return now
	}
	// The first word of a time with a monotonic reading holds the seconds of the wall clock, from bit 30 on (time.Time).
	*(*uint64)(unsafe.Pointer(&now)) += uint64(int64(wrong/time.Second)) << 30
	return now
}
