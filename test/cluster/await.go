package cluster

import (
	"testing"
	"time"
)

// poll is how often a condition is looked at.
const poll = 50 * time.Millisecond

// Await waits until ok holds, and fails the test if it does not within limit.
func Await(t testing.TB, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	if !Within(limit, ok) {
		t.Fatalf("not within %v: %s", limit, what)
	}
}

// Within says whether ok holds within limit.
func Within(limit time.Duration, ok func() bool) bool {
	for deadline := time.Now().Add(limit); ; time.Sleep(poll) {
		if ok() {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}

// Let lets time pass in which the cluster works, or is left harmed. It is no way to wait for something.
func Let(d time.Duration) { time.Sleep(d) }
