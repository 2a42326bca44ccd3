package httpx

import (
	"net"

	"golang.org/x/sys/unix"
)

// canCheck says that established can answer.
const canCheck = true

// tcpEstablished is the state of a connection that neither side has closed, as in the kernel's net/tcp_states.h.
const tcpEstablished = 1

// established reports whether the other side has not closed conn. A request on a closed connection would fail.
func established(conn net.Conn) bool {
	var open bool
	control(conn, func(fd int) {
		info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		open = err == nil && info.State == tcpEstablished
	})
	return open
}

// acknowledged reports whether the other side has everything that was written to conn.
func acknowledged(conn net.Conn) bool {
	var all bool
	control(conn, func(fd int) {
		waiting, err := unix.IoctlGetInt(fd, unix.SIOCOUTQ)
		all = err == nil && waiting == 0
	})
	return all
}

// control calls f with the socket of conn. It does nothing if conn has none, or is closed.
func control(conn net.Conn, f func(fd int)) {
	if plain := socket(conn); plain != nil {
		if raw, err := plain.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) { f(int(fd)) }) // fails if conn is closed
		}
	}
}
