package main

import (
	"bytes"
	"context"
	"strings"
	"syscall"
	"testing"
)

// A run that was made is named, also if its name cannot be printed: a script would make another one.
func TestAFullDiskDoesNotHideARun(t *testing.T) {
	for _, args := range [][]string{{"run", "ok"}, {"run", "ok", "--wait"}, {"submit", "ok", "-o", "json"}} {
		var stderr bytes.Buffer
		stdout := onWrite(func(string) error { return syscall.ENOSPC })
		got := run(context.Background(), append(args, "--server", startCluster(t)), strings.NewReader(""), stdout, &stderr)
		text := stderr.String()
		if got != exitFailed || !strings.Contains(text, "rota: run ok/") || !strings.Contains(text, " exists, but the answer cannot be printed") {
			t.Errorf("%v: got %d, %s, want the name of the run", args, got, text)
		}
	}
}
