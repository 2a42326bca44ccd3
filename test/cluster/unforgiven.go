package cluster

import (
	"fmt"
	"os"
	"testing"

	"github.com/rota-scheduler/rota/test/history"
)

// Broken fails the test for a violation. It also records the violation with Unforgiven.
func Broken(t testing.TB, v history.Violation) {
	t.Helper()
	t.Errorf("%v", v)
	Unforgiven(t, v)
}

// Unforgiven appends the findings of a judge to the file of ROTA_TEST_FOUND, if it is set. A script that repeats a failed test
// reads that file, so that the failure counts even if the repetition passes.
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
