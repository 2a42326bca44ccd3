package election

import (
	"context"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestAProofOfDeathIsNotLost makes dials fail in ways that prove nothing after the connection broke. The dials that prove the death
// come later. Nothing can connect to a dead process again, so the watch must continue.
func TestAProofOfDeathIsNotLost(t *testing.T) {
	for name, unclear := range map[string]error{
		"reset":     syscall.ECONNRESET, // happens when a process is killed: the kernel closes its listener last
		"timed out": os.ErrDeadlineExceeded,
		"no route":  syscall.EHOSTUNREACH,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				dials := []error{nil, syscall.ECONNREFUSED, unclear, syscall.ECONNREFUSED, syscall.ECONNREFUSED, syscall.ECONNREFUSED}
				if !awaitDeath(ctx, pipeAddr, script(&dials)) {
					t.Error("the process is dead, but its death was not proven")
				}
				if len(dials) > 0 {
					t.Errorf("death was proven before the last %d dials", len(dials))
				}
			})
		})
	}
}

// TestNoProofOfDeath has processes that answer again, and processes that never answered.
func TestNoProofOfDeath(t *testing.T) {
	refused := syscall.ECONNREFUSED
	for name, dials := range map[string][]error{
		"never listened": {refused, refused, refused, refused},
		"answers again":  {nil, refused, refused, nil, refused, refused, syscall.ETIMEDOUT},
		"only timeouts":  {nil, syscall.ETIMEDOUT},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if awaitDeath(ctx, pipeAddr, script(&dials)) {
					t.Error("death was proven of a process that may live")
				}
			})
		})
	}
}

// TestAPeerThatClosesAtOnceIsNotDialledTooOften has a peer that accepts connections and closes them at once, as a load balancer does
// without a process behind it.
func TestAPeerThatClosesAtOnceIsNotDialledTooOften(t *testing.T) {
	for name, err := range map[string]error{"after the connection": nil, "with a reset": syscall.ECONNRESET} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				dials, dialled := []error{nil, err}, 0
				dial := script(&dials)
				if awaitDeath(ctx, pipeAddr, func(addr string) (net.Conn, error) { dialled++; return dial(addr) }) {
					t.Error("death was proven of a process that may live")
				}
				if most := int(time.Minute/unclearPause) + 5; dialled > most {
					t.Errorf("dialled %d times in a minute, want at most %d", dialled, most)
				}
			})
		})
	}
}

// TestOnlyARefusalAtTheRemoteAddressCounts has a name with two addresses, and nothing ever listened at the first. A failed dial by
// name reports the error of the first.
func TestOnlyARefusalAtTheRemoteAddressCounts(t *testing.T) {
	const name, first, second = "q1:8470", "10.0.0.1:8470", "10.0.0.2:8470"
	refused, silent := syscall.ECONNREFUSED, syscall.ETIMEDOUT
	for what, test := range map[string]struct {
		dials map[string][]error // by address; the last repeats
		leads []string           // where successful dials by name lead; the last repeats
		dead  bool
	}{
		"partitioned":                         {map[string][]error{name: {nil, refused}, first: {silent}}, []string{first}, false},
		"dead":                                {map[string][]error{name: {nil, refused}, first: {refused}}, []string{first}, true},
		"answers at the other address":        {map[string][]error{name: {nil}, first: {refused}, second: {silent}}, []string{first, second}, false},
		"moves to the other address and dies": {map[string][]error{name: {nil, nil, refused}, first: {silent}, second: {refused}}, []string{first, second}, true},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				scripts, leads := make(map[string]func(string) (net.Conn, error)), test.leads
				for addr, dials := range test.dials {
					scripts[addr] = script(&dials)
				}
				got := awaitDeath(ctx, name, func(addr string) (net.Conn, error) {
					conn, err := scripts[addr](addr)
					if err == nil && addr == name {
						addr = leads[0]
						leads = leads[min(1, len(leads)-1):]
					}
					return routed{conn, net.TCPAddrFromAddrPort(netip.MustParseAddrPort(strings.Replace(addr, name, first, 1)))}, err
				})
				if got != test.dead {
					t.Errorf("proven dead: got %v, want %v", got, test.dead)
				}
			})
		})
	}
}

// routed is a connection with a given remote address.
type routed struct {
	net.Conn
	to net.Addr
}

func (l routed) RemoteAddr() net.Addr { return l.to }

// pipeAddr is the remote address of the connections of script.
const pipeAddr = "pipe"

// script returns a dial function with these errors in turn; the last repeats. Each connection breaks at once.
func script(dials *[]error) func(string) (net.Conn, error) {
	var err error
	return func(string) (net.Conn, error) {
		if len(*dials) > 0 {
			err, *dials = (*dials)[0], (*dials)[1:]
		}
		if err != nil {
			return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", err)}
		}
		ours, theirs := net.Pipe()
		theirs.Close()
		return ours, nil
	}
}
