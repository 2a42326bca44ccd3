package network

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// within calls f on a thread whose sockets belong to the host.
func (h *Host) within(t *testing.T, f func() error) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	defer home.Close()
	there, err := os.Open(filepath.Join("/run/netns", h.namespace))
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	if err := unix.Setns(int(there.Fd()), unix.CLONE_NEWNET); err != nil {
		t.Fatal(err)
	}
	err = f()
	if home := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); home != nil {
		panic(home) // no other goroutine may use this thread in the wrong namespace
	}
	if err != nil {
		t.Fatal(err)
	}
}

// mailbox is a socket on a host.
type mailbox struct {
	net.PacketConn
	host *Host
}

func (h *Host) mailbox(t *testing.T) mailbox {
	t.Helper()
	m := mailbox{host: h}
	h.within(t, func() (err error) {
		m.PacketConn, err = net.ListenPacket("udp4", h.Addr+":9000")
		return err
	})
	t.Cleanup(func() { m.Close() })
	return m
}

// hears reports whether a packet from another socket arrives.
func (m mailbox) hears(t *testing.T, from net.PacketConn) bool {
	t.Helper()
	text := fmt.Sprint(time.Now().UnixNano())
	_, err := from.WriteTo([]byte(text), m.LocalAddr()) // a filter on the sender's side returns an error
	if err := m.SetReadDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 64)
	for err == nil {
		var n int
		if n, _, err = m.ReadFrom(buf); err == nil && string(buf[:n]) == text {
			return true
		}
	}
	return false
}

// TestLab makes every kind of cut. Each time it checks which hosts still reach each other.
func TestLab(t *testing.T) {
	if testing.Short() {
		t.Skip("makes network namespaces; left out of -short")
	}
	lab := New(t, "a", "b", "c")
	a, b, c := lab.Host("a").mailbox(t), lab.Host("b").mailbox(t), lab.Host("c").mailbox(t)
	test, err := net.ListenPacket("udp4", lab.Gateway+":9000")
	if err != nil {
		t.Fatal(err)
	}
	defer test.Close()
	type link struct {
		from, to mailbox
		hears    bool
	}
	outside := mailbox{PacketConn: test}
	all := func(hears bool) []link {
		return []link{{a, b, hears}, {b, a, hears}, {a, c, hears}, {c, a, hears}, {outside, a, hears}, {a, outside, hears}}
	}
	for _, row := range []struct {
		name  string
		cut   func() *Cut
		links []link
	}{
		{"nothing", nil, append(all(true), link{b, c, true}, link{c, b, true})},
		{"one way", func() *Cut { return lab.CutOneWay([]string{"a"}, []string{"b"}) },
			[]link{{a, b, false}, {b, a, true}, {a, c, true}, {c, a, true}, {outside, a, true}, {outside, b, true}}},
		{"both ways", func() *Cut { return lab.Split([]string{"a"}, []string{"b"}) },
			[]link{{a, b, false}, {b, a, false}, {a, c, true}, {c, b, true}, {outside, a, true}}},
		{"halves", func() *Cut { return lab.Split([]string{"a"}, lab.Others("a")) },
			[]link{{a, b, false}, {c, a, false}, {b, c, true}, {outside, a, true}, {a, outside, true}}},
		{"everything of one", func() *Cut { return lab.Vanish("a") }, append(all(false), link{b, c, true})},
	} {
		t.Run(row.name, func(t *testing.T) {
			var cut *Cut
			if row.cut != nil {
				cut = row.cut()
			}
			for _, l := range row.links {
				if got := l.to.hears(t, l.from); got != l.hears {
					t.Errorf("%v to %v: arrives %v, want %v", l.from.LocalAddr(), l.to.LocalAddr(), got, l.hears)
				}
			}
			if cut != nil {
				cut.Heal()
			}
			for _, l := range all(true) {
				if !l.to.hears(t, l.from) {
					t.Errorf("%v to %v: nothing arrives after healing", l.from.LocalAddr(), l.to.LocalAddr())
				}
			}
		})
	}
}

// TestSweep finds the remains of a lab whose process was killed, and leaves the lab of a living process alone.
func TestSweep(t *testing.T) {
	if testing.Short() {
		t.Skip("makes network namespaces; left out of -short")
	}
	alive := New(t, "a")
	dead, free, err := take()
	if err != nil {
		t.Fatal(err)
	}
	name := namespace(dead, "a")
	if _, err := run("ip", "netns", "add", name); err != nil {
		t.Fatal(err)
	}
	owned.mu.Lock() // unlock the file, as the kernel does when the process dies
	owned.locks[dead].Close()
	owned.mu.Unlock()
	again, freeAgain, err := take()
	if err != nil {
		t.Fatal(err)
	}
	if err := freeAgain(); err != nil {
		t.Error(err)
	}
	if again == alive.number {
		t.Error("the number of a lab that is in use was taken")
	}
	if _, err := os.Stat(filepath.Join("/run/netns", name)); err == nil {
		t.Errorf("namespace %s is still there", name)
		_ = free()
	}
	if _, err := os.Stat(filepath.Join("/run/netns", alive.hosts[0].namespace)); err != nil {
		t.Errorf("the lab that is in use was swept: %v", err)
	}
}
