//go:build faultclock

package main

import (
	"os"
	"strings"
	"time"
	"unsafe"
)

// faultClock is the variable with the name of a file. The file holds the error of this process's clock in whole seconds, such as
// 45s or -336h. A test may rewrite the file at any time. Only builds with the tag faultclock read it.
const faultClock = "FAULT_CLOCK_FILE"

// wallClock returns a time that is wrong by the value in the file, and correct without a file. The monotonic clock does not
// change, as on a machine whose clock was set.
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
	// In a time with a monotonic reading, the first word holds the seconds of the wall clock, from bit 30 (see time.Time).
	*(*uint64)(unsafe.Pointer(&now)) += uint64(int64(wrong/time.Second)) << 30
	return now
}
