package poll

import (
	"testing"
	"time"
)

const (
	patience = 20 * time.Second // enough on a machine that runs the tests of all packages at once
	interval = 5 * time.Millisecond
)

// Until polls until ok returns true. If that takes longer than 20 seconds, it fails the test, and says what it has waited for.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(interval) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}
