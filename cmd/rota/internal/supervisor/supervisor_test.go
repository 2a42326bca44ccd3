package supervisor

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

// listen stands for systemd: it returns a channel of the messages that this process sends.
func listen(t *testing.T) <-chan string {
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("NOTIFY_SOCKET", path)
	messages, ended := make(chan string, 100), make(chan struct{})
	go func() {
		defer close(ended)
		for buf := make([]byte, 4096); ; {
			n, err := conn.Read(buf)
			if err != nil {
				return
			}
			messages <- string(buf[:n])
		}
	}()
	t.Cleanup(func() { _ = conn.Close(); <-ended })
	return messages
}

func next(t *testing.T, messages <-chan string) string {
	t.Helper()
	select {
	case m := <-messages:
		return m
	case <-time.After(10 * time.Second):
		t.Fatal("no message in 10 s")
		return ""
	}
}

func TestStatesAreSentInSystemdsFormat(t *testing.T) {
	messages := listen(t)
	s := New(hclog.NewNullLogger())
	for name, send := range map[string]func(){
		"STATUS=waiting for etcd": func() { s.Waiting("etcd") },
		"READY=1":                 s.Ready,
		"STOPPING=1":              s.Stopping,
	} {
		send()
		if got := next(t, messages); !strings.HasPrefix(got, name) {
			t.Errorf("got %q, want %q first", got, name)
		}
	}
	s.Reloading()
	if got := next(t, messages); !strings.HasPrefix(got, "RELOADING=1\nMONOTONIC_USEC=") || strings.HasSuffix(got, "=0") {
		t.Errorf("got %q for a reload, want the monotonic time in it", got)
	}
}

func TestWatchdogGetsBeatsOnlyWhileTheProcessIsAlive(t *testing.T) {
	messages := listen(t)
	t.Setenv("WATCHDOG_USEC", "80000")
	s := New(hclog.NewNullLogger())
	ctx, cancel := context.WithCancel(t.Context())
	var dead atomic.Bool
	probes := make(chan struct{}, 1000)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Watch(ctx, func(context.Context) error {
			probes <- struct{}{}
			if dead.Load() {
				return errors.New("the loop hangs")
			}
			return nil
		})
	}()
	for range 3 {
		if got := next(t, messages); got != "WATCHDOG=1" {
			t.Errorf("got %q, want a beat", got)
		}
	}
	dead.Store(true)
	for range 2 { // the second probe begins after the beat of the last living one
		drain(probes)
		<-probes
	}
	drain(messages)
	for range 3 {
		<-probes
	}
	if len(messages) > 0 {
		t.Errorf("got %q from a process that makes no progress", <-messages)
	}
	cancel()
	<-ended
}

func drain[T any](c <-chan T) {
	for len(c) > 0 {
		<-c
	}
}

func TestNothingIsSentWithoutSystemd(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	t.Setenv("WATCHDOG_USEC", "")
	s := New(hclog.NewNullLogger())
	s.Ready()
	s.Watch(t.Context(), func(context.Context) error { t.Error("the process was probed"); return nil }) // returns at once
}
