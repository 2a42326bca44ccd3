package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"
)

// TestABrokenPipeDoesNotEndANode starts itself as a child process. The child's stdout and stderr are a pipe without a reader. The
// child runs `rota worker` without settings, which prints an error and exits.
func TestABrokenPipeDoesNotEndANode(t *testing.T) {
	const child = "ROTA_TEST_NOBODY_READS"
	if os.Getenv(child) != "" {
		os.Exit(run(context.Background(), []string{"worker"}, os.Stdin, os.Stdout, os.Stderr))
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r.Close()
	cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), child+"=1")
	cmd.Stdout, cmd.Stderr = w, w
	var exit *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != exitBadConfig {
		t.Errorf("got %v, want exit code %d", err, exitBadConfig)
	}
}
