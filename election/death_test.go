package election

import (
	"context"
	"net"
	"os"
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
				if !awaitDeath(ctx, script(&dials)) {
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
				if awaitDeath(ctx, script(&dials)) {
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
				if awaitDeath(ctx, func() (net.Conn, error) { dialled++; return dial() }) {
					t.Error("death was proven of a process that may live")
				}
				if most := int(time.Minute/unclearPause) + 5; dialled > most {
					t.Errorf("dialled %d times in a minute, want at most %d", dialled, most)
				}
			})
		})
	}
}

// script dials with these errors in turn, and has the last stay; a connection that is had breaks at once.
func script(dials *[]error) func() (net.Conn, error) {
	var err error
	return func() (net.Conn, error) {
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
