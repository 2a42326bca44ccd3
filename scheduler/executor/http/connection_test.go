package httpx_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	httpx "github.com/rota-scheduler/rota/scheduler/executor/http"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestUnsentBytesAreDiscarded cancels a request whose bytes are in the kernel. The target does not read, as during a network
// partition. When the target reads again, it must not get the request.
func TestUnsentBytesAreDiscarded(t *testing.T) {
	for _, scheme := range []string{"http", "https"} {
		t.Run(scheme, func(t *testing.T) {
			little := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
				return errors.Join(c.Control(func(fd uintptr) { // 1 byte: the kernel uses its minimum
					err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 1)
				}), err)
			}}
			deaf, err := little.Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer deaf.Close()
			ctx, cancel := context.WithCancelCause(t.Context())
			sent := make(chan struct{})
			ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { close(sent) }})
			ended, cfg := make(chan job.Outcome, 1), httpx.Config{}
			certified := httptest.NewTLSServer(nil)
			certified.Close()
			if scheme == "https" {
				cfg.TLS = &tls.Config{InsecureSkipVerify: true} // the test's own server
			}
			e := httpx.New(cfg, func() time.Time { return at })
			t.Cleanup(e.Close)
			go func() {
				ended <- e.Execute(ctx, request(job.HTTP{URL: scheme + "://" + deaf.Addr().String(), Method: "POST", Body: strings.Repeat("x", 12<<10)}, io.Discard))
			}()
			conn, err := deaf.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			target := conn
			if scheme == "https" {
				secured := tls.Server(conn, certified.TLS)
				if err := secured.HandshakeContext(t.Context()); err != nil {
					t.Fatal(err)
				}
				target = secured
			}
			<-sent
			cancel(executor.ErrFenced)
			if o := <-ended; o.State != job.Lost {
				t.Errorf("got %+v, want lost", o)
			}
			conn.SetReadDeadline(time.Now().Add(10 * time.Second))
			got, err := io.ReadAll(target)
			if err == nil || strings.Count(string(got), "x") >= 12<<10 {
				t.Errorf("the target got %d bytes and %v, want a part and a broken connection", len(got), err)
			}
		})
	}
}
