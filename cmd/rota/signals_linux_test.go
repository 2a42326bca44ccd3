package main

import (
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal opens a new terminal, which is not the terminal of this process.
func terminal(t *testing.T) *os.File {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this machine has no terminals: %v", err)
	}
	t.Cleanup(func() { screen.Close() })
	if err := unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Skipf("this machine has no terminals: %v", err)
	}
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Skipf("this machine has no terminals: %v", err)
	}
	keyboard, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this machine has no terminals: %v", err)
	}
	t.Cleanup(func() { keyboard.Close() })
	return keyboard
}

// hangUp sends SIGHUP to this process and waits until it arrives. If nothing receives the signal, it ends this process.
func hangUp(t *testing.T) {
	t.Helper()
	came := make(chan os.Signal, 1)
	signal.Notify(came, syscall.SIGHUP)
	defer signal.Stop(came)
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	select {
	case <-came:
	case <-time.After(10 * time.Second):
		t.Fatal("the signal does not arrive")
	}
}

func TestDevEndsWithItsTerminal(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("this process ignores hangups")
	}
	t.Run("with a terminal, a hangup ends rota dev", func(t *testing.T) {
		ctx, reload, end := (&cli{in: terminal(t)}).untilHangup(t.Context())
		defer end()
		for range 2 { // the second one has no effect
			hangUp(t)
			select {
			case <-ctx.Done():
			case <-reload:
				t.Fatal("a hangup asks to read the files again")
			case <-time.After(10 * time.Second):
				t.Fatal("the context is not canceled")
			}
		}
	})
	t.Run("without a terminal, a hangup reloads the job files", func(t *testing.T) {
		ctx, reload, end := (&cli{in: strings.NewReader("")}).untilHangup(t.Context())
		defer end()
		hangUp(t)
		select {
		case <-reload:
		case <-time.After(10 * time.Second):
			t.Fatal("no hangup arrives")
		}
		if err := ctx.Err(); err != nil {
			t.Errorf("the context ended: %v", err)
		}
	})
}
