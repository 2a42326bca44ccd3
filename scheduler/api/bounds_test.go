package api_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Slow readers of lists must not fill the memory. Only a few lists are sent at the same time. All other requests are still
// answered.
func TestListsAreBounded(t *testing.T) {
	f := newFake()
	f.change(func(f *fake) { // more than a page, so that the kernel cannot take all of it
		f.putRun(job.Run{Job: "backup", ID: "large", Reason: strings.Repeat("x", 8<<20)})
	})
	srv := serve(t, f.backend())
	var opened sync.WaitGroup
	for i := range 8 { // as many lists as are sent at the same time, to two clients; each reader stops after the first line
		opened.Go(func() {
			dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+i%2))}}
			conn, err := dialer.Dial("tcp", srv.Listener.Addr().String())
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
			if _, err := fmt.Fprintf(conn, "GET /v1/runs?limit=1000 HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
				t.Error(err)
				return
			}
			if line, err := bufio.NewReaderSize(conn, 16).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
				t.Errorf("got %q, %v", line, err)
			}
		})
	}
	opened.Wait()
	a := ask(t, srv, "GET", "/v1/runs", "")
	if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" {
		t.Errorf("one list more: got %d %.200q, want 503 with Retry-After", a.status, a.text)
	}
	if a := ask(t, srv, "GET", "/v1/jobs/backup", ""); a.status != http.StatusOK {
		t.Errorf("a single job: got %d", a.status)
	}
	if a := ask(t, srv, "GET", "/livez", ""); a.status != http.StatusOK {
		t.Errorf("a probe: got %d", a.status)
	}
}
