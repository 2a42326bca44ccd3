package dial_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor/dial"
)

// A name leads to a public address at its first look-up, and to a metadata service or to this machine at each later one. A check
// before the connection would accept it.
func TestANameThatChangesIsRefused(t *testing.T) {
	for _, later := range []string{"127.0.0.1", "169.254.169.254"} {
		t.Run(later, func(t *testing.T) {
			public := netip.MustParseAddr("192.0.2.1")
			var asked atomic.Int64
			server := nameServer(t, func() []netip.Addr {
				if asked.Add(1) == 1 {
					return []netip.Addr{public}
				}
				return []netip.Addr{netip.MustParseAddr(later)}
			})
			resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "udp", server)
			}}
			guard := dial.New(dial.Config{Setting: "worker.http"}, nil)
			addrs, err := resolver.LookupNetIP(t.Context(), "ip4", "changes.example.")
			if err != nil || len(addrs) != 1 || addrs[0] != public || guard.Check(netip.AddrPortFrom(public, 80)) != nil {
				t.Fatalf("the first look-up: got %v, %v, want an address that is accepted", addrs, err)
			}
			dialer := &net.Dialer{Resolver: resolver, Timeout: 5 * time.Second}
			conn, err := guard.Dial(t.Context(), dialer, "tcp4", "changes.example.:80")
			if err == nil {
				_ = conn.Close()
			}
			if _, refused := errors.AsType[*dial.RefusedError](err); !refused {
				t.Errorf("the second look-up: got %v, want a refusal", err)
			}
		})
	}
}

// A name has an address that is refused, and one at which nothing listens now, as localhost while its server starts again. A
// request there may be repeated.
func TestANameWithARefusedAddress(t *testing.T) {
	closed, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(closed.Addr().String())
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	server := nameServer(t, func() []netip.Addr {
		return []netip.Addr{netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr("127.0.0.1")}
	})
	dialer.Resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server)
	}}
	guard := dial.New(dial.Config{Allow: prefixes("127.0.0.1/32")}, nil)
	conn, err := guard.Dial(t.Context(), dialer, "tcp4", "two.example.:"+port)
	if err != nil {
		t.Fatalf("while a server listens: %v", err)
	}
	_ = conn.Close()
	_ = closed.Close()
	_, err = guard.Dial(t.Context(), dialer, "tcp4", "two.example.:"+port)
	if _, refused := errors.AsType[*dial.RefusedError](err); err == nil || refused {
		t.Errorf("while none listens: got %v, want an error that may pass", err)
	}
}

// nameServer answers each question for an IPv4 address by a function, and returns where it
// listens.
func nameServer(t *testing.T, answer func() []netip.Addr) string {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { // ends when the connection is closed
		defer close(done)
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if text := reply(buf[:n], answer); text != nil {
				_, _ = conn.WriteTo(text, from) // the resolver asks again
			}
		}
	}()
	t.Cleanup(func() {
		_ = conn.Close()
		<-done
	})
	return conn.LocalAddr().String()
}

// reply returns the answer to a question with one name, in the form of RFC 1035; nil for anything else.
func reply(question []byte, answer func() []netip.Addr) []byte {
	const header = 12
	if len(question) < header {
		return nil
	}
	name := bytes.IndexByte(question[header:], 0)
	end := header + name + 1 + 4 // with the type and the class
	if name < 0 || len(question) < end {
		return nil
	}
	isA := question[end-3] == 1
	text := append([]byte{question[0], question[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, question[header:end]...)
	if isA {
		for _, addr := range answer() {
			text[7]++
			text = append(text, 0xc0, header, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4) // the same name, type A, no time to live
			text = append(text, addr.AsSlice()...)
		}
	}
	return text
}
