package cluster

import (
	"fmt"
	"os"
	"testing"

	"github.com/rota-scheduler/rota/test/history"
)

// Broken fails the test for a violation, and records it, so that a repetition does not hide it.
func Broken(t testing.TB, v history.Violation) {
	t.Helper()
	t.Errorf("%v", v)
	Unforgiven(t, v)
}

// Unforgiven appends the findings of a judge to the file of ROTA_TEST_FOUND, if it is set. A script that repeats a failed test
// reads that file: a violation stays a violation if it does not happen the next time.
func Unforgiven(t testing.TB, found ...history.Violation) {
	t.Helper()
	path := os.Getenv("ROTA_TEST_FOUND")
	if path == "" || len(found) == 0 {
		return
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	for _, v := range found {
		if _, err := fmt.Fprintf(f, "%s: %v\n", t.Name(), v); err != nil {
			t.Error(err)
			return
		}
	}
}
