package cluster

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

var buildFault = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("ROTA_TEST_FAULT_BINARY"); path != "" {
		return path, nil
	}
	return build(filepath.Join(scratch, "rota-faultclock"), "-tags=faultclock")
})

// faultBinary returns the path of a rota binary whose clock a test can set: see cmd/rota/clock_fault.go. ROTA_TEST_FAULT_BINARY
// names such a binary that exists already.
func faultBinary(t *testing.T) string {
	t.Helper()
	path, err := buildFault()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
