package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
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

// TestASignalEndsTheWaitForInput runs commands that read stdin, which stays open and empty, as a terminal does.
func TestASignalEndsTheWaitForInput(t *testing.T) {
	stdin, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(interrupted{syscall.SIGINT})
	for _, args := range [][]string{
		{"check", "-"}, {"import", "crontab", "-"}, {"run", "ok", "--payload", "@-"}, {"jobs", "--token-file", "-"},
	} {
		code := make(chan int, 1)
		go func() { code <- run(ctx, args, stdin, io.Discard, io.Discard) }()
		select {
		case got := <-code:
			if got != exitSignal+int(syscall.SIGINT) {
				t.Errorf("rota %v: got exit code %d", args, got)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("rota %v still waits for input", args)
		}
	}
	c := &cli{in: stdin, quit: ctx.Done(), err: io.Discard}
	answer := make(chan bool, 1)
	go func() { answer <- c.confirm("remove 1 job?") }()
	select {
	case yes := <-answer:
		if yes {
			t.Error("a signal counts as yes")
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the question still waits for an answer")
	}
}
