package listeners

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/loop"
)

const (
	refresh       = 5 * time.Second // between two calls of Peers
	lookUpTimeout = 2 * time.Second // timeout for one name
)

// Config holds the sources of addresses.
type Config struct {
	Local []string // addresses, as host:port or URL, at which this machine has processes of rota or etcd
	// Peers returns the addresses of the other processes. After an error, the last known addresses stay in use.
	Peers func(ctx context.Context) ([]string, error)
}

// Listeners knows the addresses of rota and etcd. It is safe for concurrent use.
type Listeners struct {
	cfg    Config
	known  atomic.Pointer[known]
	lookUp func(ctx context.Context, host string) ([]netip.Addr, error) // resolves a name
}

// known holds the addresses that one call of look found.
type known struct {
	local   map[netip.Addr]bool // addresses of this machine
	ports   map[uint16]bool     // ports at which this machine has processes of rota or etcd
	targets map[netip.AddrPort]bool
	hosts   map[string][]netip.Addr // the addresses of each host at its last successful look-up
}

// New finds the addresses of this machine. Run finds those of other machines.
func New(cfg Config) *Listeners {
	l := &Listeners{cfg: cfg, lookUp: lookUp}
	l.known.Store(&known{})
	l.look(context.Background(), nil)
	return l
}

// Run updates the addresses of the cluster every few seconds until ctx ends.
func (l *Listeners) Run(ctx context.Context) error {
	var peers []string
	loop.Every(ctx, refresh, func(ctx context.Context) {
		if found, err := l.cfg.Peers(ctx); err == nil {
			peers = found
		}
		l.look(ctx, peers)
	})
	return nil
}

// At reports whether a process of rota or of etcd listens at an address.
func (l *Listeners) At(to netip.AddrPort) bool {
	k, addr := l.known.Load(), to.Addr().Unmap()
	if k.targets[netip.AddrPortFrom(addr, to.Port())] {
		return true
	}
	return k.ports[to.Port()] && (addr.IsLoopback() || k.local[addr])
}

// look resolves all addresses, and each name once. A name that cannot be resolved keeps its last addresses, also if the name server
// says that it does not exist. Otherwise jobs could reach the store while the name server is down, or lacks a name for a while.
func (l *Listeners) look(ctx context.Context, peers []string) {
	k := &known{
		local: localAddrs(), ports: map[uint16]bool{}, targets: map[netip.AddrPort]bool{}, hosts: map[string][]netip.Addr{},
	}
	for _, address := range l.cfg.Local {
		for _, at := range l.resolve(ctx, k, address) {
			k.ports[at.Port()] = true
			k.targets[at] = true // an advertised address may lead here through a router
		}
	}
	for _, address := range peers {
		for _, at := range l.resolve(ctx, k, address) {
			k.targets[at] = true
		}
	}
	l.known.Store(k)
}

func localAddrs() map[netip.Addr]bool {
	all := map[netip.Addr]bool{}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return all // loopback addresses are always known
	}
	for _, a := range addrs {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			all[prefix.Addr().Unmap()] = true
		}
	}
	return all
}

// lookUp resolves a name by the resolver of this machine.
func lookUp(ctx context.Context, host string) ([]netip.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, lookUpTimeout)
	defer cancel()
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// resolve returns the addresses that a URL or host:port leads to. It adds its host to k.
func (l *Listeners) resolve(ctx context.Context, k *known, address string) (all []netip.AddrPort) {
	if u, err := url.Parse(address); err == nil && u.Host != "" && strings.Contains(address, "://") {
		address = u.Host
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil
	}
	number, err := net.DefaultResolver.LookupPort(ctx, "tcp", port)
	if err != nil {
		return nil
	}
	if host == "" {
		host = "0.0.0.0"
	}
	addrs, found := k.hosts[host]
	if !found {
		if addrs, err = l.lookUp(ctx, host); err != nil {
			addrs = l.known.Load().hosts[host]
		}
		k.hosts[host] = addrs
	}
	for _, addr := range addrs {
		all = append(all, netip.AddrPortFrom(addr.Unmap(), uint16(number)))
	}
	return all
}
