package cluster

import (
	"testing"
	"time"
)

// poll is the time between two checks of a condition.
const poll = 50 * time.Millisecond

// Await waits until ok holds, and fails the test if it does not within limit.
func Await(t testing.TB, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	if !Within(limit, ok) {
		t.Fatalf("not within %v: %s", limit, what)
	}
}

// Within reports whether ok holds within limit.
func Within(limit time.Duration, ok func() bool) bool {
	// All tests of clusters poll in this loop.
	for deadline := time.Now().Add(limit); ; time.Sleep(poll) {
		if ok() {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}

// Let waits for d while the cluster works, with or without a fault. Use it where the length itself is part of the test, for
// example the length of a fault. To wait for a condition, use Await.
func Let(d time.Duration) {
	// The caller needs a length of time and has no condition to poll.
	time.Sleep(d)
}
