package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/config"
)

// logged has the fields of a log line that the tests compare.
type logged struct {
	Level   string `json:"@level"`
	Message string `json:"@message"`
	N       int    `json:"n"`
	Lines   int    `json:"lines"`
}

func TestALogWithoutAReaderDoesNotBlock(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	queue := newLineQueue(w)
	log := newLogger(queue, config.Settings{Log: config.Log{Level: "info", Format: "json"}})
	const all = 10_000
	said := make(chan struct{})
	go func() { // ends when the pipe is closed, at the end of the test
		defer close(said)
		for n := range all {
			log.Named("a").Info("line", "n", n, "padding", strings.Repeat("x", 200))
		}
	}()
	select {
	case <-said:
	case <-time.After(30 * time.Second):
		t.Fatal("the log waits for its reader")
	}
	scanner := bufio.NewScanner(r)
	next := func() (l logged) {
		t.Helper()
		if !scanner.Scan() {
			t.Fatalf("the log ended: %v", scanner.Err())
		}
		if err := json.Unmarshal(scanner.Bytes(), &l); err != nil {
			t.Fatalf("%v: %s", err, scanner.Text())
		}
		return l
	}
	kept, dropped := 0, 0
	for kept+dropped < all {
		line := next()
		switch {
		case line.Message == "line" && line.N == kept+dropped:
			kept++
		case line.Level == "warn" && strings.HasPrefix(line.Message, "log lines were dropped") && line.Lines > 0:
			dropped += line.Lines
		default:
			t.Fatalf("after %d lines and %d dropped ones: got %+v", kept, dropped, line)
		}
	}
	if kept+dropped != all || kept == 0 || dropped == 0 {
		t.Errorf("got %d lines and %d dropped ones, want some of both, and %d", kept, dropped, all)
	}
	log.Error("the last")
	queue.end()
	if line := next(); line.Message != "the last" {
		t.Errorf("got %+v, want the last line", line)
	}
	<-queue.done
	w.Close()
	if scanner.Scan() {
		t.Errorf("got %s at the end", scanner.Text())
	}
}

func TestAllLinesAreWrittenWhenTheProcessEnds(t *testing.T) {
	var out bytes.Buffer
	queue := newLineQueue(&out)
	var want strings.Builder
	for n := range 100 {
		fmt.Fprintf(queue, "line %d\n", n)
		fmt.Fprintf(&want, "line %d\n", n)
		if n != 50 {
			continue
		}
		if queue.flush(); out.String() != want.String() {
			t.Errorf("after flush: got %q, want %q", out.String(), want.String())
		}
	}
	queue.end()
	if out.String() != want.String() {
		t.Errorf("at the end: got %q, want %q", out.String(), want.String())
	}
	queue.flush()
	queue.end()
	if _, err := fmt.Fprintln(queue, "too late"); err != nil || out.String() != want.String() {
		t.Errorf("after the end: got %v, %q", err, out.String())
	}
}

// fullPipe returns a full pipe without a reader.
func fullPipe(t *testing.T) (w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	raw, err := w.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	page := make([]byte, 4096)
	var full error
	if err := raw.Write(func(fd uintptr) bool {
		for full == nil || errors.Is(full, syscall.EINTR) {
			_, full = syscall.Write(int(fd), page)
		}
		return true
	}); err != nil || !errors.Is(full, syscall.EAGAIN) {
		t.Fatalf("fill a pipe: %v, %v", err, full)
	}
	return w
}

func TestAReplicaWithABlockedLogWorksAndStops(t *testing.T) {
	if testing.Short() {
		t.Skip("starts etcd")
	}
	dir := t.TempDir()
	jobs, ran := filepath.Join(dir, "jobs.yaml"), filepath.Join(dir, "ran")
	if err := os.WriteFile(jobs, []byte("jobs: {tick: {every: 1s, command: [touch, "+ran+"]}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("rota", "serve", "--node-name=q1", "--node-data-dir="+filepath.Join(dir, "data"), "--jobs="+jobs,
		"--http-listen=127.0.0.1:0", "--etcd-embedded-client=http://127.0.0.1:0")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GOCOVERDIR=" + os.Getenv("GOCOVERDIR")}
	cmd.Stderr = fullPipe(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // ends with the process, which the test kills if it does not end before
	defer func() { _ = cmd.Process.Kill() }()
	for deadline := time.After(time.Minute); ; {
		if _, err := os.Stat(ran); err == nil {
			break
		}
		select {
		case err := <-ended:
			t.Fatalf("the replica ended: %v", err)
		case <-deadline:
			t.Fatal("the replica executes no runs")
		case <-time.After(50 * time.Millisecond):
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("the replica ended with %v, want exit code 0", err)
		}
	case <-time.After(30 * time.Second):
		t.Error("the replica does not stop")
	}
}
