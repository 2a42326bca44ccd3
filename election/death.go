package election

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"
)

// What proves that a process is dead: the connection to it broke, and then so many dials in a row were refused.
const (
	refusals     = 3
	refusalPause = 10 * time.Millisecond
	dialTimeout  = time.Second
)

// AwaitDeath returns true once the process that listens at addr is proven dead: a connection that was established broke,
// and after it nobody listens there any more. It returns false when ctx ends, and when a connection can neither be had nor
// is refused, or could not be had in the first place; the caller may then ask again.
//
// A host that vanishes refuses nothing, so it is never proven dead. The proof may be wrong where addr is that of a
// load balancer, or where a process closes its listener and lives on; so act on it only by a guarded write.
func AwaitDeath(ctx context.Context, addr string) bool {
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return false
	}
	for refused := 0; refused < refusals; {
		if conn != nil {
			hold(ctx, conn)
			refused = 0
		}
		conn, err = dialer.DialContext(ctx, "tcp", addr)
		switch {
		case err == nil:
		case errors.Is(err, syscall.ECONNREFUSED):
			conn = nil
			refused++
			wait(ctx, refusalPause)
		default:
			return false
		}
	}
	return ctx.Err() == nil
}

// Listens says whether a connection to addr can be had.
func Listens(ctx context.Context, addr string) bool {
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// hold returns when the connection has broken, or ctx has ended.
func hold(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	_, _ = conn.Read(make([]byte, 1)) // nothing is ever sent: this waits for the end, however it comes
}
