package listeners

import (
	"context"
	"errors"
	"net/netip"
	"testing"
)

// TestANameKeepsItsAddressesWhileTheNameServerIsDown resolves the name of an etcd, and then fails to resolve it. Jobs must not reach
// that etcd meanwhile.
func TestANameKeepsItsAddressesWhileTheNameServerIsDown(t *testing.T) {
	l := New(Config{})
	names := map[string]string{"etcd-1": "192.0.2.5"}
	l.lookUp = func(_ context.Context, host string) ([]netip.Addr, error) {
		if at, ok := names[host]; ok {
			return []netip.Addr{netip.MustParseAddr(at)}, nil
		}
		return nil, errors.New("server misbehaving")
	}
	look := func() { l.look(t.Context(), []string{"https://etcd-1:2379"}) }
	at := func(text string) bool { return l.At(netip.MustParseAddrPort(text)) }
	look()
	delete(names, "etcd-1")
	for range 3 {
		look()
	}
	if !at("192.0.2.5:2379") {
		t.Error("the etcd is not known any more")
	}
	names["etcd-1"] = "192.0.2.6"
	look()
	if at("192.0.2.5:2379") || !at("192.0.2.6:2379") {
		t.Error("the new address did not replace the old one")
	}
	if l.look(t.Context(), nil); len(l.known.Load().hosts) > 0 {
		t.Error("a name that is in use no more is kept")
	}
}

// TestANameWithTwoPortsHasTheAddressesOfOneLookUp lets the second look-up of a name fail. Its new address counts for both ports.
func TestANameWithTwoPortsHasTheAddressesOfOneLookUp(t *testing.T) {
	l := New(Config{})
	address, failing, lookUps := "192.0.2.5", false, 0
	l.lookUp = func(context.Context, string) ([]netip.Addr, error) {
		if lookUps++; failing && lookUps > 1 {
			return nil, errors.New("server misbehaving")
		}
		return []netip.Addr{netip.MustParseAddr(address)}, nil
	}
	look := func() {
		lookUps = 0
		l.look(t.Context(), []string{"https://etcd-1:2379", "etcd-1:2380"})
	}
	look()
	address, failing = "192.0.2.6", true
	look()
	for _, port := range []string{"2379", "2380"} {
		if !l.At(netip.MustParseAddrPort("192.0.2.6:" + port)) {
			t.Errorf("the new address with port %s is not known", port)
		}
	}
}
