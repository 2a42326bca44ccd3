package network

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// echo starts a server that returns its input, and returns its address.
func echo(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() { // the goroutine ends with the listener
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() { // the goroutine ends with the connection, which the proxy closes
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	return ln.Addr().String()
}

// line is a connection through a proxy.
type line struct {
	net.Conn
	answers *bufio.Reader
}

func call(t *testing.T, p *Proxy) line {
	t.Helper()
	conn, err := net.Dial("tcp", p.ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return line{conn, bufio.NewReader(conn)}
}

// hears sends text unless it is empty, and returns the echo within limit.
func (l line) hears(t *testing.T, text string, limit time.Duration) (string, error) {
	t.Helper()
	if text != "" {
		if _, err := io.WriteString(l, text+"\n"); err != nil {
			return "", err
		}
	}
	if err := l.SetReadDeadline(time.Now().Add(limit)); err != nil {
		t.Fatal(err)
	}
	answer, err := l.answers.ReadString('\n')
	return answer, err
}

func TestProxy(t *testing.T) {
	const soon = 200 * time.Millisecond
	p := NewProxy(t, "127.0.0.1", echo(t))
	first := call(t, p)
	if got, err := first.hears(t, "1", 5*time.Second); got != "1\n" {
		t.Fatalf("got %q, %v", got, err)
	}

	if open := p.Hold(false); open != 1 {
		t.Errorf("held %d connections, want 1", open)
	}
	if got, err := first.hears(t, "2", soon); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a connection that is held carries %q, %v", got, err)
	}
	if got, err := call(t, p).hears(t, "new", 5*time.Second); got != "new\n" {
		t.Errorf("a new connection beside one that is held: got %q, %v", got, err)
	}
	if held := p.Release(); held != 1 {
		t.Errorf("%d pieces were held back, want 1", held)
	}
	if got, err := first.hears(t, "", 5*time.Second); got != "2\n" {
		t.Errorf("after the release: got %q, %v, want what was held back", got, err)
	}

	p.Hold(true)
	deaf := call(t, p)
	if got, err := deaf.hears(t, "3", soon); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a new connection of a deaf proxy carries %q, %v", got, err)
	}
	p.Break()
	if got, err := first.hears(t, "", 5*time.Second); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a connection that was broken: got %q, %v, want its end", got, err)
	}

	p.Delay(soon)
	late := call(t, p)
	began := time.Now()
	if got, err := late.hears(t, "4", 5*time.Second); got != "4\n" || time.Since(began) < 2*soon {
		t.Errorf("a slow link: got %q, %v after %v, want it after twice %v", got, err, time.Since(began), soon)
	}
}
