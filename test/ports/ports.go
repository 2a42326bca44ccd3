package ports

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
)

// The range of ports for processes. It is below the ports that kernels use for outgoing connections, so that a restarted
// process finds its port free.
const (
	firstPort = 10_000
	lastPort  = 32_000
)

// given has the ports that Free has returned. Tests run in parallel, and a free port may belong to another test whose process
// does not listen yet.
var given sync.Map

// Free returns n free loopback ports that no other call has returned.
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

// IsFree reports whether a process can listen on a loopback port.
func IsFree(port int) bool {
	ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return false
	}
	ln.Close()
	return true
}

// Addr returns a free loopback address.
func Addr(t testing.TB) string {
	t.Helper()
	return fmt.Sprintf("127.0.0.1:%d", Free(t, 1)[0])
}
