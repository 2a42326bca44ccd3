package dial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"syscall"
)

// Config holds an operator's settings about addresses. The zero value refuses loopback and the addresses that are always
// refused.
type Config struct {
	Setting string         // the name of the setting that Allow and Deny come from, for errors, such as worker.http
	Allow   []netip.Prefix // prefixes that are accepted, unless Deny has the address too
	Deny    []netip.Prefix // prefixes that are refused
}

// RefusedError says that a definition must not reach an address. Another attempt would be refused too.
type RefusedError struct {
	Addr   netip.Addr
	Reason string
	Hint   string // what an operator can do; empty: nothing
}

func (e *RefusedError) text() string {
	return fmt.Sprintf("target %s is refused: %s", e.Addr, e.Reason)
}

func (e *RefusedError) Error() string {
	text := e.text()
	if e.Hint != "" {
		text += " (" + e.Hint + ")"
	}
	return text
}

// Guard checks addresses before they are dialled. It is safe for concurrent use.
type Guard struct {
	cfg Config
	own Own
}

// Own reports whether rota itself listens at an address: its API, or its etcd.
type Own func(netip.AddrPort) bool

// New returns a guard. A nil own means that rota listens nowhere.
func New(cfg Config, own Own) *Guard {
	if own == nil {
		own = func(netip.AddrPort) bool { return false }
	}
	return &Guard{cfg: cfg, own: own}
}

// Dial dials an address with d, and refuses as Control does. If a name has addresses that are refused and others that do not
// answer, the error is no *RefusedError: the others may answer later. A nil guard refuses nothing.
func (g *Guard) Dial(ctx context.Context, d *net.Dialer, network, address string) (net.Conn, error) {
	if g == nil {
		return d.DialContext(ctx, network, address)
	}
	guarded, tried := *d, atomic.Bool{} // an address was accepted
	guarded.ControlContext = func(ctx context.Context, network, address string, c syscall.RawConn) error {
		err := g.Control(ctx, network, address, c)
		if err == nil {
			tried.Store(true)
		}
		return err
	}
	conn, err := guarded.DialContext(ctx, network, address)
	if refused, ok := errors.AsType[*RefusedError](err); ok && tried.Load() {
		err = fmt.Errorf("dial %s: the addresses that are not refused do not answer (%s)", address, refused.text())
	}
	return conn, err
}

// Control refuses a connection before it is opened. It is the ControlContext of a net.Dialer, which calls it with each resolved
// address. The error is a *RefusedError.
func (g *Guard) Control(_ context.Context, _, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("check target %s: %w", address, err)
	}
	return g.Check(to)
}

// Check returns a *RefusedError if the address must not be reached.
func (g *Guard) Check(to netip.AddrPort) error {
	refuse := func(reason, hint string) error {
		return &RefusedError{Addr: to.Addr().Unmap(), Reason: reason, Hint: hint}
	}
	// An address may wrap an IPv4 address. Both forms are checked, since a server may answer at either.
	for _, addr := range forms(to.Addr()) {
		if reason := never(addr); reason != "" {
			return refuse(reason, "")
		}
		if g.own(netip.AddrPortFrom(addr, to.Port())) {
			return refuse("rota itself listens there", "")
		}
		if contains(g.cfg.Deny, addr) {
			return refuse("it is in "+g.cfg.Setting+".deny", "")
		}
	}
	for _, addr := range forms(to.Addr()) {
		if addr.IsLoopback() && !contains(g.cfg.Allow, addr) {
			return refuse("it is a loopback address", "Add it to "+g.cfg.Setting+".allow if definitions may reach this machine.")
		}
	}
	return nil
}

// never returns why no definition may reach the address, whatever the settings; "" if the settings decide.
func never(addr netip.Addr) string {
	switch {
	case slices.Contains(metadata, addr):
		return "it is a metadata service"
	case addr.IsLinkLocalUnicast():
		return "it is a link-local address"
	case addr.IsMulticast():
		return "it is a multicast address"
	case addr.IsUnspecified(), contains(unroutable, addr):
		return "it is no address of a host"
	}
	return ""
}

// metadata are the addresses at which clouds give credentials to any process that requests them. Further ones are link-local.
var metadata = []netip.Addr{
	netip.MustParseAddr("169.254.169.254"),
	netip.MustParseAddr("fd00:ec2::254"),      // AWS
	netip.MustParseAddr("fd00:ec2::23"),       // AWS, for pods of EKS
	netip.MustParseAddr("fd20:ce::254"),       // Google Cloud
	netip.MustParseAddr("168.63.129.16"),      // Azure
	netip.MustParseAddr("100.100.100.200"),    // Alibaba Cloud
	netip.MustParseAddr("192.0.0.192"),        // Oracle Cloud
	netip.MustParseAddr("fd00:c1::a9fe:a9fe"), // Oracle Cloud
	netip.MustParseAddr("fd00:42::42"),        // Scaleway
}

// unroutable are prefixes that the kernel treats as this machine or as a whole network.
var unroutable = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("255.255.255.255/32"),
}

func contains(prefixes []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(addr) })
}
