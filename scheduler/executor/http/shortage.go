package httpx

import (
	"errors"
	"net"
	"syscall"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// notBegun returns the outcome of a request for which this machine lacked what a connection needs; ok is false if err says
// something else. Local ports are short for one target, so other kinds of actions go on.
func notBegun(err error) (_ job.Outcome, ok bool) {
	short := errors.New("request: " + plain(err))
	switch dial, _ := errors.AsType[*net.OpError](err); {
	case executor.NoDescriptor(err):
		return executor.NotBegun(short), true
	case dial == nil || dial.Op != "dial":
	case errors.Is(dial, syscall.ENOBUFS):
		return executor.NotBegun(short), true
	case errors.Is(dial, syscall.EADDRNOTAVAIL) && hasSource(dial.Addr):
		return executor.KindAway(short), true
	}
	return job.Outcome{}, false
}

// hasSource reports whether this machine has an address from which packets can go to addr. Without one, such as for a target that
// has IPv6 alone, the kernel returns the same error as without a free port, and it stays. No packet is sent.
func hasSource(addr net.Addr) bool {
	to, ok := addr.(*net.TCPAddr)
	if !ok {
		return false
	}
	conn, err := net.DialUDP("udp", nil, &net.UDPAddr{IP: to.IP, Port: to.Port, Zone: to.Zone})
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}
