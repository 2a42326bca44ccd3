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

// TestAProofOfDeathIsNotLost has dials fail in ways that prove nothing, after the connection broke: the dials that prove it
// come later, and nobody can have another connection to who is dead.
func TestAProofOfDeathIsNotLost(t *testing.T) {
	for name, unclear := range map[string]error{
		"reset":     syscall.ECONNRESET, // seen when a process is killed: its listener is the last to be closed
		"timed out": os.ErrDeadlineExceeded,
		"no route":  syscall.EHOSTUNREACH,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				dials := []error{nil, syscall.ECONNREFUSED, unclear, syscall.ECONNREFUSED, syscall.ECONNREFUSED, syscall.ECONNREFUSED}
				if !awaitDeath(ctx, pipeAddr, script(&dials)) {
					t.Error("the process is dead, and this was not proven")
				}
				if len(dials) > 0 {
					t.Errorf("proven although %d dials were not made yet", len(dials))
				}
			})
		})
	}
}

// TestNoProofOfDeath has the process answer, or never have answered.
func TestNoProofOfDeath(t *testing.T) {
	refused := syscall.ECONNREFUSED
	for name, dials := range map[string][]error{
		"never there":  {refused, refused, refused, refused},
		"comes back":   {nil, refused, refused, nil, refused, refused, syscall.ETIMEDOUT},
		"only unclear": {nil, syscall.ETIMEDOUT},
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

// TestWhoClosesAtOnceIsNotDialledTooOften has somebody listen who takes no part in any talk, like a balancer without a process
// behind it.
func TestWhoClosesAtOnceIsNotDialledTooOften(t *testing.T) {
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

// TestOnlyWhereItListenedIsARefusalOfAProcess has a name with two addresses, at the first of which nobody ever listened: a dial by
// name that fails says what that one did.
func TestOnlyWhereItListenedIsARefusalOfAProcess(t *testing.T) {
	const name, first, second = "q1:8470", "10.0.0.1:8470", "10.0.0.2:8470"
	refused, silent := syscall.ECONNREFUSED, syscall.ETIMEDOUT
	for what, test := range map[string]struct {
		dials map[string][]error // by what is dialled; the last stays
		leads []string           // where dials by name lead, if they do; the last stays
		dead  bool
	}{
		"it is cut off":             {map[string][]error{name: {nil, refused}, first: {silent}}, []string{first}, false},
		"it is dead":                {map[string][]error{name: {nil, refused}, first: {refused}}, []string{first}, true},
		"it answers elsewhere":      {map[string][]error{name: {nil}, first: {refused}, second: {silent}}, []string{first, second}, false},
		"it is elsewhere, and dies": {map[string][]error{name: {nil, nil, refused}, first: {silent}, second: {refused}}, []string{first, second}, true},
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
					return led{conn, net.TCPAddrFromAddrPort(netip.MustParseAddrPort(strings.Replace(addr, name, first, 1)))}, err
				})
				if got != test.dead {
					t.Errorf("proven dead: got %v, want %v", got, test.dead)
				}
			})
		})
	}
}

// led is a connection that leads to an address.
type led struct {
	net.Conn
	to net.Addr
}

func (l led) RemoteAddr() net.Addr { return l.to }

// pipeAddr is where the connections of script lead.
const pipeAddr = "pipe"

// script dials with these errors in turn, and has the last stay; a connection that is had breaks at once.
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
