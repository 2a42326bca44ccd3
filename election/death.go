package election

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

// A process is proven dead when the connection to it broke and then this many dials in a row were refused.
const (
	refusals     = 3
	refusalPause = 10 * time.Millisecond
	unclearPause = 100 * time.Millisecond // after a dial that failed in another way; also the longest pause
	shortest     = time.Second            // a connection that lasts longer leads to a process that serves
	dialTimeout  = time.Second
)

// AwaitDeath returns true when the process that listens at addr is proven dead. The proof has two parts: an established
// connection broke, and afterwards nothing listens at the address of that connection or answers at addr. It returns false when
// ctx ends, or if it got no connection at the start; the caller may then try again.
//
// A host that vanishes refuses no connection, so its processes are never proven dead. The proof may be wrong if addr is that of
// a load balancer, or if a process closes its listener and lives on. So act on it only by a guarded write.
func AwaitDeath(ctx context.Context, addr string) bool {
	_, dead := AwaitDeathAt(ctx, addr)
	return dead
}

// AwaitDeathAt is AwaitDeath. It also returns when the connection to the dead process broke, by the clock of this machine.
func AwaitDeathAt(ctx context.Context, addr string) (at time.Time, dead bool) {
	dialer := net.Dialer{Timeout: dialTimeout}
	var broke atomic.Int64
	dead = awaitDeath(ctx, addr, func(addr string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, "tcp", addr)
		if conn == nil {
			return nil, err
		}
		return &noted{Conn: conn, broke: &broke}, err
	})
	return time.Unix(0, broke.Load()), dead
}

// noted is a connection that notes when it is closed, which awaitBreak does as soon as it breaks.
type noted struct {
	net.Conn
	broke *atomic.Int64 // in nanoseconds since 1970
}

func (n *noted) Close() error {
	n.broke.Store(time.Now().UnixNano())
	return n.Conn.Close()
}

// awaitDeath returns false before ctx ends only if it got no connection at the start. After a connection it must
// continue: a dead process accepts no second connection, so the proof would be lost.
//
// Only refusals at the remote address of the connection count. A name may have other addresses where nothing ever
// listened, such as the IPv6 address of a process that listens on IPv4. Those refuse while the process lives, and a
// failed dial by name reports only one address.
func awaitDeath(ctx context.Context, addr string, dial func(addr string) (net.Conn, error)) bool {
	conn, err := dial(addr)
	if err != nil {
		return false
	}
	at := conn.RemoteAddr().String()
	awaitBreak(ctx, conn)
	pause := refusalPause
	for refused := 0; ctx.Err() == nil; wait(ctx, pause) {
		conn, err := dial(at)
		if errors.Is(err, syscall.ECONNREFUSED) {
			if refused++; refused < refusals {
				pause = refusalPause
				continue
			}
		}
		if err != nil && at != addr { // the process may answer at another address of the same name
			if moved, err2 := dial(addr); err2 == nil {
				conn, err = moved, nil
			}
		}
		if errors.Is(err, syscall.ECONNREFUSED) {
			return true
		}
		refused = 0
		began := time.Now()
		if err == nil {
			at = conn.RemoteAddr().String()
			awaitBreak(ctx, conn)
		}
		switch {
		case err == nil && time.Since(began) > shortest:
			pause = refusalPause
		case err == nil, errors.Is(err, syscall.ECONNRESET):
			// The kernel closes the connections of a dead process before its listener. But a load balancer without a process
			// behind it may accept and close connections for ever.
			pause = min(2*pause, unclearPause)
		default:
			pause = unclearPause
		}
	}
	return false
}

// Listens reports whether a process accepts a connection at addr.
func Listens(ctx context.Context, addr string) bool {
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// awaitBreak returns when the connection has broken or ctx has ended. It closes the connection.
func awaitBreak(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	_, _ = conn.Read(make([]byte, 1)) // the peer never sends; the read returns when the connection breaks
}
