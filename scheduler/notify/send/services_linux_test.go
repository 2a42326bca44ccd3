package send_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A file under a write lease cannot be opened until the lease ends. It behaves like a file on a file server that does not
// answer.
func TestHangingFileIsAbandoned(t *testing.T) {
	host, got := hook(t, 204)
	path := filepath.Join(t.TempDir(), "token")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lease := func(kind uintptr) {
		t.Helper()
		if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), syscall.F_SETLEASE, kind); errno != 0 {
			t.Fatalf("lease: %v", errno)
		}
	}
	lease(syscall.F_WRLCK)
	s := services(t)
	url := "generic+http://" + host + "/${file:" + path + "}"
	for _, when := range []string{"hangs", "still hangs"} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		sent := make(chan error, 1)
		go func() { sent <- s.Send(ctx, url, message) }() // this goroutine ends during the test, unless the test fails
		select {
		case err := <-sent:
			if err == nil {
				t.Errorf("sent, although the file %s", when)
			}
		case <-time.After(5 * time.Second):
			t.Errorf("Send waits while the file %s", when)
		}
		cancel()
	}
	lease(syscall.F_UNLCK)
	ticker := time.NewTicker(10 * time.Millisecond) // Send refuses until the abandoned calls have returned
	defer ticker.Stop()
	for until := time.Now().Add(10 * time.Second); ; <-ticker.C {
		if err = s.Send(t.Context(), url, message); err == nil {
			break
		}
		if time.Now().After(until) {
			t.Fatal(err)
		}
	}
	<-got
}
