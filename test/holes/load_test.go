package holes

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rota-scheduler/rota/test/cluster"
)

// listsFillMemory: 200 waiting runs of 240 KB, then 10 concurrent `GET /v1/runs?limit=1000` by readers that do not read on.
func listsFillMemory(v *server) (success bool, got string) {
	const runs, readers, much = 200, 10, 200 // MiB
	if answer, ok := v.define("large", `{"every":"24h","http":{"url":"http://192.0.2.1/"}}`); !ok {
		return false, answer
	}
	body := fmt.Sprintf(`{"in":"24h","payload":{"text":%q}}`, strings.Repeat("x", 240_000))
	refused := v.each(runs, func(client *http.Client) int {
		status, _ := v.askAt(client, v.url, http.MethodPost, "/v1/jobs/large/runs", body)
		return status
	}, http.StatusCreated)
	if refused > 0 {
		v.t.Fatalf("%s refuses %d of %d runs, so there is no list", v.version, refused, runs)
	}
	before := v.memory()
	var wg sync.WaitGroup
	for range readers {
		conn := v.open("GET /v1/runs?job=large&limit=1000 HTTP/1.1\r\n")
		defer conn.Close()
		_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		wg.Go(func() { _, _ = io.ReadFull(conn, make([]byte, 1)) }) // a refusal is an answer as well
	}
	wg.Wait()
	grown := func() int { return v.memory() - before }
	success = cluster.Within(time.Second, func() bool { return grown() > much })
	return success, fmt.Sprintf("%d lists take %d MiB", readers, grown())
}

// submissionsAreUnbounded: 1,500 runs of one job, all of which wait.
func submissionsAreUnbounded(v *server) (success bool, got string) {
	const runs = 1500
	if answer, ok := v.define("flooded", `{"every":"24h","shell":"true"}`); !ok {
		return false, answer
	}
	refused := v.each(runs, func(client *http.Client) int {
		status, _ := v.askAt(client, v.url, http.MethodPost, "/v1/jobs/flooded/runs", `{"in":"24h"}`)
		return status
	}, http.StatusCreated)
	return refused == 0, fmt.Sprintf("%d of %d submissions refused", refused, runs)
}

// changesAreUnbounded: 4,000 changes at once. They change nothing, so that neither version does work.
func changesAreUnbounded(v *server) (success bool, got string) {
	const changes = 4000
	began := time.Now()
	refused := v.each(changes, func(client *http.Client) int {
		status, _ := v.askAt(client, v.url, http.MethodDelete, "/v1/jobs/none", "")
		return status
	}, http.StatusNotFound)
	if took := time.Since(began); refused == 0 && took > 4*time.Second { // 2,000 at once and 500 a second are allowed
		v.t.Skipf("NOT TESTED: this machine is too busy to flood %s: %d changes took %v", v.version, changes, took)
	}
	return refused == 0, fmt.Sprintf("%d of %d changes refused", refused, changes)
}

// each sends requests on sixteen connections that stay open. It returns how many were not answered with a status.
func (v *server) each(requests int, send func(client *http.Client) int, status int) (others int) {
	v.t.Helper()
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	defer client.CloseIdleConnections()
	var left, refused atomic.Int64
	left.Store(int64(requests))
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if send(client) != status {
					refused.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return int(refused.Load())
}

// streamsTakeDescriptors: `prlimit --nofile=1024` and 1,100 streams of events. Then the service does not answer health checks.
func streamsTakeDescriptors(v *server) (success bool, got string) {
	served := serve(v.t, setup{
		version: v.version, rota: v.rota, user: serviceUser, wrapper: []string{"sh", "-c", `ulimit -n 1024; exec "$0" "$@"`},
	})
	for range 1100 {
		if conn := served.open("GET /v1/events HTTP/1.1\r\n"); conn != nil {
			defer conn.Close()
		}
	}
	ready := cluster.Within(5*time.Second, served.ready)
	return !ready, fmt.Sprintf("ready in spite of 1,100 streams: %v", ready)
}

// open opens a connection, sends a request and does not read the answer.
func (v *server) open(request string) net.Conn {
	v.t.Helper()
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(v.url, "http://"), 5*time.Second)
	v.must(err)
	_ = conn.(*net.TCPConn).SetReadBuffer(4096)
	request += "Host: localhost\r\n"
	if v.token != "" {
		request += "Authorization: Bearer " + v.token + "\r\n"
	}
	_, _ = io.WriteString(conn, request+"\r\n") // a closed connection is an answer as well
	return conn
}

// memory returns the resident memory of the process in MiB.
func (v *server) memory() int {
	v.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", v.pid()))
	v.must(err)
	_, line, _ := strings.Cut(string(text), "VmRSS:")
	kib := 0
	_, err = fmt.Sscan(line, &kib)
	v.must(err)
	return kib >> 10
}
