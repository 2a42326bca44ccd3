package ports

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
)

// The range of ports that processes are given: below those that kernels give to outgoing connections, so that a process
// that is started again finds its port free.
const (
	firstPort = 10_000
	lastPort  = 32_000
)

// given holds the ports that were handed out: tests run side by side, and a port that is free now may be another test's,
// whose process has not begun to listen.
var given sync.Map

// Free returns n ports of loopback that are free, and that no other call has returned.
func Free(t testing.TB, n int) []int {
	t.Helper()
	ports := make([]int, 0, n)
	for tries := 0; len(ports) < n; tries++ {
		if tries > 1000 {
			t.Fatalf("no %d free ports between %d and %d", n, firstPort, lastPort)
		}
		port := firstPort + rand.IntN(lastPort-firstPort)
		if _, taken := given.LoadOrStore(port, true); taken {
			continue
		}
		ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		ln.Close()
		ports = append(ports, port)
	}
	return ports
}

// IsFree says whether somebody could listen at a port of loopback.
func IsFree(port int) bool {
	ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return false
	}
	ln.Close()
	return true
}

// Addr returns a free address of loopback.
func Addr(t testing.TB) string {
	t.Helper()
	return fmt.Sprintf("127.0.0.1:%d", Free(t, 1)[0])
}
