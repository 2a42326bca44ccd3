package cluster

import (
	"fmt"
	"os"
	"testing"

	"github.com/rota-scheduler/rota/test/history"
)

// Broken fails the test for a promise that was not kept, and has that not forgiven.
func Broken(t testing.TB, v history.Violation) {
	t.Helper()
	t.Errorf("%v", v)
	Unforgiven(t, v)
}

// Unforgiven notes what a judge has found, in the file that ROTA_TEST_FOUND names, if it does. Whoever runs a failed test once
// more, since the machine may have held something up, looks there: a promise that was broken is not mended by being kept the
// next time.
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
