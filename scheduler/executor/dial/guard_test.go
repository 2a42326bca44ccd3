package dial_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor/dial"
)

func prefixes(texts ...string) (list []netip.Prefix) {
	for _, text := range texts {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}

func TestAddressesAreAcceptedOrRefused(t *testing.T) {
	own := func(a netip.AddrPort) bool { return a.Port() == 8470 && a.Addr() == netip.MustParseAddr("10.0.0.5") }
	open := dial.Config{Setting: "worker.http", Allow: prefixes("127.0.0.0/8", "::1/128", "169.254.0.0/16")}
	for _, tt := range []struct {
		name, address string
		cfg           dial.Config
		want          string // part of the error; empty: accepted
	}{
		{"a public address", "93.184.216.34:443", dial.Config{}, ""},
		{"a private address", "10.1.2.3:80", dial.Config{}, ""},
		{"a unique local address", "[fd12::1]:80", dial.Config{}, ""},
		{"loopback", "127.0.0.1:80", dial.Config{Setting: "worker.http"}, "Add it to worker.http.allow"},
		{"another loopback address", "127.8.8.8:80", dial.Config{}, "loopback"},
		{"loopback of IPv6", "[::1]:80", dial.Config{}, "loopback"},
		{"loopback, mapped", "[::ffff:127.0.0.1]:80", dial.Config{}, "target 127.0.0.1 is refused: it is a loopback"},
		{"loopback, by NAT64", "[64:ff9b::7f00:1]:80", dial.Config{}, "loopback"},
		{"loopback, by 6to4", "[2002:7f00:1::]:80", dial.Config{}, "loopback"},
		{"loopback, compatible", "[::127.0.0.1]:80", dial.Config{}, "loopback"},
		{"loopback that is allowed", "127.0.0.1:80", open, ""},
		{"loopback of IPv6 that is allowed", "[::1]:80", open, ""},
		{"metadata", "169.254.169.254:80", dial.Config{}, "metadata"},
		{"metadata, although allowed", "169.254.169.254:80", open, "metadata"},
		{"metadata, mapped", "[::ffff:169.254.169.254]:80", open, "metadata"},
		{"metadata, by NAT64", "[64:ff9b::a9fe:a9fe]:80", open, "metadata"},
		{"metadata, translated", "[::ffff:0:169.254.169.254]:80", open, "metadata"},
		{"metadata of IPv6", "[fd00:ec2::254]:80", open, "metadata"},
		{"metadata of another cloud", "100.100.100.200:80", open, "metadata"},
		{"metadata of Azure, which has a public address", "168.63.129.16:80", dial.Config{Allow: prefixes("168.63.129.16/32")}, "metadata"},
		{"metadata of Google Cloud by IPv6", "[fd20:ce::254]:80", open, "metadata"},
		{"credentials of pods on AWS by IPv6", "[fd00:ec2::23]:80", open, "metadata"},
		{"metadata of Scaleway by IPv6", "[fd00:42::42]:80", open, "metadata"},
		{"metadata of Oracle Cloud by IPv6", "[fd00:c1::a9fe:a9fe]:80", open, "metadata"},
		{"link-local", "169.254.1.1:80", open, "link-local"},
		{"link-local of IPv6", "[fe80::1%eth0]:80", open, "link-local"},
		{"multicast", "224.0.0.1:80", open, "multicast"},
		{"unspecified", "0.0.0.0:80", open, "no address"},
		{"unspecified of IPv6", "[::]:80", open, "no address"},
		{"this network", "0.1.2.3:80", open, "no address"},
		{"broadcast", "255.255.255.255:80", open, "no address"},
		{"rota itself", "10.0.0.5:8470", dial.Config{Allow: prefixes("10.0.0.0/8")}, "rota itself"},
		{"rota itself, mapped", "[::ffff:10.0.0.5]:8470", dial.Config{}, "rota itself"},
		{"another port of rota's host", "10.0.0.5:80", dial.Config{}, ""},
		{"denied", "10.1.2.3:80", dial.Config{Setting: "notify.http", Deny: prefixes("10.1.0.0/16"), Allow: prefixes("10.0.0.0/8")}, "notify.http.deny"},
		{"denied, mapped", "[::ffff:10.1.2.3]:80", dial.Config{Deny: prefixes("10.1.0.0/16")}, "deny"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := dial.New(tt.cfg, own).Check(netip.MustParseAddrPort(tt.address))
			var refused *dial.RefusedError
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("got %v, want it accepted", err)
			case tt.want != "" && (!errors.As(err, &refused) || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %v, want a refusal that says %q", err, tt.want)
			}
		})
	}
}

// The dialer passes the resolved address to the guard. So a name for loopback, or an unusual notation of it, is refused too.
func TestADialerAsksTheGuard(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	dialer := net.Dialer{Timeout: 5 * time.Second, ControlContext: dial.New(dial.Config{}, nil).Control}
	for _, host := range []string{"127.0.0.1", "localhost", "::ffff:127.0.0.1", "0x7f000001", "2130706433", "127.1", "0177.0.0.1"} {
		conn, err := dialer.DialContext(t.Context(), "tcp", net.JoinHostPort(host, port))
		if err == nil {
			_ = conn.Close()
			t.Errorf("%s: connected", host)
		}
	}
	dialer.ControlContext = dial.New(dial.Config{Allow: prefixes("127.0.0.0/8")}, nil).Control
	conn, err := dialer.DialContext(context.WithoutCancel(t.Context()), "tcp", ln.Addr().String())
	if err != nil {
		t.Fatalf("an allowed address: %v", err)
	}
	_ = conn.Close()
}
