//go:build faultclock

package main

import (
	"os"
	"strings"
	"time"
	"unsafe"
)

// faultClock names the environment variable that has the path of a file. The file holds the error of this process's clock in
// whole seconds, such as 45s or -336h. A test may rewrite the file at any time. Only builds with the tag faultclock read it.
const faultClock = "FAULT_CLOCK_FILE"

// wallClock returns the present time plus the error in the file. Without a file the time is correct. The monotonic clock is not
// changed, as on a machine whose wall clock was set.
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
