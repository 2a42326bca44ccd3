package main

import (
	"strings"
	"testing"
)

// TestACertificateThatLosesNamesIsReported renews a certificate without a --host of the first time, and one with another role.
func TestACertificateThatLosesNamesIsReported(t *testing.T) {
	dir := t.TempDir()
	issue := func(args ...string) string {
		t.Helper()
		code, _, stderr := runHere(nil, append([]string{"pki"}, append(args, "--dir", dir)...)...)
		if code != 0 {
			t.Fatalf("rota pki %v: exit code %d, %s", args, code, stderr)
		}
		return stderr
	}
	issue("init", "--cluster", "prod")
	issue("issue", "q1", "--role", "replica", "--host", "q1.internal", "--host", "10.0.0.1")
	if got := issue("issue", "q1", "--role", "replica", "--host", "q1.internal", "--host", "10.0.0.1"); strings.Contains(got, "warning") {
		t.Errorf("the same names: got %s, want no warning", got)
	}
	if got := issue("issue", "q1", "--role", "replica"); !strings.Contains(got, "was also for q1.internal, 10.0.0.1;") {
		t.Errorf("without --host: got %s, want a warning that names both hosts", got)
	}
	if got := issue("issue", "q1", "--role", "worker"); !strings.Contains(got, "was also for rota://prod/replica/q1;") {
		t.Errorf("another role: got %s, want a warning that names the earlier role", got)
	}
}
