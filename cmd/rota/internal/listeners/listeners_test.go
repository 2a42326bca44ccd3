package listeners_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"

	"github.com/rota-scheduler/rota/cmd/rota/internal/listeners"
	"github.com/rota-scheduler/rota/test/poll"
)

func TestProcessesOfTheClusterAreKnown(t *testing.T) {
	asked := make(chan struct{}, 1)
	l := listeners.New(listeners.Config{
		Local: []string{"0.0.0.0:8470", "192.0.2.5:8471", "http://127.0.0.1:2379", "http://localhost:2380", "nonsense", "http://no-such-name.invalid:1"},
		Peers: func(context.Context) ([]string, error) {
			select {
			case asked <- struct{}{}:
				return []string{"192.0.2.7:8470", "https://192.0.2.8:2379"}, nil
			default:
				return nil, errors.New("store does not answer")
			}
		},
	})
	at := func(text string) bool { return l.At(netip.MustParseAddrPort(text)) }
	for _, text := range []string{"127.0.0.1:8470", "[::1]:8470", "127.9.9.9:2379", "127.0.0.1:2380", "[::ffff:127.0.0.1]:8470", "192.0.2.5:8471"} {
		if !at(text) {
			t.Errorf("%s is not known before the first look at the cluster", text)
		}
	}
	if addr := outward(t); addr.IsValid() && !l.At(netip.AddrPortFrom(addr, 8470)) {
		t.Errorf("%s of this machine is not known", addr)
	}
	for _, text := range []string{"127.0.0.1:80", "192.0.2.7:8470", "192.0.2.9:8470"} {
		if at(text) {
			t.Errorf("%s is taken for rota", text)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	poll.Until(t, "a peer is known", func() bool { return at("192.0.2.7:8470") })
	if !at("192.0.2.8:2379") || at("192.0.2.7:80") || at("192.0.2.9:8470") {
		t.Error("the peers are not what they should be")
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// outward returns an address of this machine that is not loopback. It returns the zero Addr if there is none.
func outward(t *testing.T) netip.Addr {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil && !p.Addr().IsLoopback() && p.Addr().Is4() {
			return p.Addr()
		}
	}
	return netip.Addr{}
}
