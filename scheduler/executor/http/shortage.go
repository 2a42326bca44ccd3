package httpx

import (
	"errors"
	"net"
	"syscall"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// portPause is the pause after the first attempt without a local port. It grows with the number of the attempt, up to
// portPauseMost: a port is free again a minute after its connection was closed.
const (
	portPause     = time.Second
	portPauseMost = time.Minute
)

// notBegun returns the outcome of an attempt for which this machine lacked what a connection needs; ok is false if err says
// something else. Ports are short for one target alone, so the worker goes on, and only this run waits.
func notBegun(err error, attempt int) (o job.Outcome, ok bool) {
	o = executor.NotBegun(errors.New("request: " + plain(err)))
	switch dial, _ := errors.AsType[*net.OpError](err); {
	case executor.NoDescriptor(err):
		return o, true
	case dial == nil || dial.Op != "dial":
	case errors.Is(dial, syscall.ENOBUFS):
		return o, true
	case errors.Is(dial, syscall.EADDRNOTAVAIL) && hasSource(dial.Addr):
		o.After = min(time.Duration(max(1, attempt))*portPause, portPauseMost)
		return o, true
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
