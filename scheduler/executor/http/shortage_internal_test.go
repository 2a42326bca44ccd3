package httpx

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestARequestWithoutALocalPortHasNotBegun lets the kernel refuse a connection before anything is sent.
func TestARequestWithoutALocalPortHasNotBegun(t *testing.T) {
	here := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}
	nowhere := &net.TCPAddr{IP: net.ParseIP("fe80::1"), Port: 80, Zone: "none"} // an address that no source address reaches
	for name, c := range map[string]struct {
		op       string
		to       *net.TCPAddr
		err      syscall.Errno
		notBegun bool
		after    time.Duration
	}{
		"no free port":      {"dial", here, syscall.EADDRNOTAVAIL, true, 3 * time.Second},
		"no memory":         {"dial", here, syscall.ENOBUFS, true, 0},
		"no source address": {"dial", nowhere, syscall.EADDRNOTAVAIL, false, 0},
		"refused":           {"dial", here, syscall.ECONNREFUSED, false, 0},
		"while it is sent":  {"write", here, syscall.ENOBUFS, false, 0},
	} {
		e := New(Config{}, time.Now)
		e.transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: c.op, Net: "tcp", Addr: c.to, Err: os.NewSyscallError("connect", c.err)}
		}
		o := e.Execute(t.Context(), executor.Request{
			Run:    job.Run{Job: "charge", ID: "1", Attempt: 3},
			Spec:   job.Spec{HTTP: &job.HTTP{URL: "http://127.0.0.1/", Method: http.MethodPost}},
			Output: io.Discard,
		})
		if o.NotBegun != c.notBegun || o.KindAway || o.After != c.after || !o.Retry || (o.State == job.Lost) != c.notBegun {
			t.Errorf("%s: got %+v, want not begun: %v, after: %v", name, o, c.notBegun, c.after)
		}
	}
}
