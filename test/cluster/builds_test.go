package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// build builds rota with flags of the go command, under a name.
func build(name string, flags ...string) (string, error) {
	path := filepath.Join(scratch, name)
	args := append(append([]string{"build", "-o", path}, flags...), "github.com/rota-scheduler/rota/cmd/rota")
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return path, nil
}

var buildFault = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("ROTA_TEST_FAULT_BINARY"); path != "" {
		return path, nil
	}
	return build("rota-faultclock", "-tags=faultclock")
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
