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
	unclearPause = 100 * time.Millisecond // after a dial that failed otherwise, and at most
	shortest     = time.Second            // life of a connection to somebody who serves
	dialTimeout  = time.Second
)

// AwaitDeath returns true once the process that listens at addr is proven dead: a connection that was established broke,
// and after it nobody listens any more where that connection led, nor answers at addr. It returns false when ctx ends, and when
// no connection could be had in the first place; the caller may then ask again.
//
// A host that vanishes refuses nothing, so it is never proven dead. The proof may be wrong where addr is that of a
// load balancer, or where a process closes its listener and lives on; so act on it only by a guarded write.
func AwaitDeath(ctx context.Context, addr string) bool {
	dialer := net.Dialer{Timeout: dialTimeout}
	return awaitDeath(ctx, addr, func(addr string) (net.Conn, error) { return dialer.DialContext(ctx, "tcp", addr) })
}

// awaitDeath never gives up once it had a connection: nobody can have one to a dead process, so the proof would be lost.
//
// Only the address that the connection led to is asked for refusals. A name may have others, at which nobody ever listened, as
// the IPv6 one of a process that listens for IPv4: those refuse for as long as the process lives, and a dial by name that fails
// tells of one address alone.
func awaitDeath(ctx context.Context, addr string, dial func(addr string) (net.Conn, error)) bool {
	conn, err := dial(addr)
	if err != nil {
		return false
	}
	at := conn.RemoteAddr().String()
	hold(ctx, conn)
	pause := refusalPause
	for refused := 0; ctx.Err() == nil; wait(ctx, pause) {
		conn, err := dial(at)
		if errors.Is(err, syscall.ECONNREFUSED) {
			if refused++; refused < refusals {
				pause = refusalPause
				continue
			}
		}
		if err != nil && at != addr { // it may answer elsewhere by now
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
			hold(ctx, conn)
		}
		switch {
		case err == nil && time.Since(began) > shortest:
			pause = refusalPause
		case err == nil, errors.Is(err, syscall.ECONNRESET):
			// The kernel closes a dead process's connections, and then its listener. But a balancer whose process is gone may
			// take connections and close them at once for as long as it likes.
			pause = min(2*pause, unclearPause)
		default:
			pause = unclearPause
		}
	}
	return false
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
