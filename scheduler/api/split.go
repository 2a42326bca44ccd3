package api

import (
	"io"
	"net"
	"sync"
	"time"
)

// handshakeRecord is the first byte of a connection with TLS. No HTTP request begins with it.
const handshakeRecord = 0x16

// splitter divides the connections of a listener into those with and without TLS, by their first byte.
type splitter struct {
	ln     net.Listener
	limit  int           // of silent connections
	wait   time.Duration // for the first byte
	secure chan accepted // unbuffered, never closed
	plain  chan accepted // unbuffered, never closed
	done   chan struct{} // closed by Close

	mu     sync.Mutex
	closed bool                  // guarded by mu
	silent map[net.Conn]struct{} // guarded by mu: connections without a first byte
}

// accepted is the result of one Accept.
type accepted struct {
	conn net.Conn
	err  error
}

// split returns two listeners for the connections of ln: those with TLS, and those without. The caller must call run, which
// distributes the connections and returns after one of the two was closed. Closing one closes both, and ln.
func split(ln net.Listener, limit int, wait time.Duration) (secure, plain net.Listener, run func()) {
	s := &splitter{
		ln: ln, limit: limit, wait: wait, secure: make(chan accepted), plain: make(chan accepted), done: make(chan struct{}),
		silent: make(map[net.Conn]struct{}),
	}
	return half{s, s.secure}, half{s, s.plain}, s.run
}

func (s *splitter) run() {
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		conn, err := s.ln.Accept()
		switch {
		case err != nil:
			// A server pauses after an error that will pass, and so does this loop: it waits for the next Accept.
			if !s.give(s.plain, accepted{nil, err}) {
				return
			}
		case s.hold(conn):
			wg.Go(func() { s.sort(conn) })
		default:
			_ = conn.Close() // there are too many, or the splitter is closed
		}
	}
}

// sort waits for the first byte of a connection, and gives the connection to one of the listeners.
func (s *splitter) sort(conn net.Conn) {
	_ = conn.SetReadDeadline(time.Now().Add(s.wait)) // after an error, the read fails
	first := make([]byte, 1)
	_, err := io.ReadFull(conn, first)
	s.release(conn)
	if err == nil {
		err = conn.SetReadDeadline(time.Time{})
	}
	to := s.plain
	if first[0] == handshakeRecord {
		to = s.secure
	}
	if err != nil || !s.give(to, accepted{&begun{conn, first}, nil}) {
		_ = conn.Close()
	}
}

// give waits until a listener takes a. It returns false if the splitter was closed first.
func (s *splitter) give(to chan<- accepted, a accepted) bool {
	select {
	case to <- a:
		return true
	case <-s.done:
		return false
	}
}

// hold remembers a silent connection, so that Close can end it. It returns false if there are too many, or after Close.
func (s *splitter) hold(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.silent) >= s.limit {
		return false
	}
	s.silent[conn] = struct{}{}
	return true
}

func (s *splitter) release(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.silent, conn)
}

// Close closes the listener and the silent connections. Further calls return nil.
func (s *splitter) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	close(s.done)
	for conn := range s.silent {
		_ = conn.Close()
	}
	return s.ln.Close()
}

// half is one of the two listeners of a splitter.
type half struct {
	*splitter
	from <-chan accepted
}

// Accept returns the next connection of this half.
func (h half) Accept() (net.Conn, error) {
	select {
	case a := <-h.from:
		return a.conn, a.err
	case <-h.done:
		return nil, net.ErrClosed
	}
}

// Addr returns the address of the split listener.
func (h half) Addr() net.Addr { return h.ln.Addr() }

// begun is a connection whose first bytes were read.
type begun struct {
	net.Conn
	first []byte
}

// Read returns the bytes that were read before, and then those of the connection.
func (b *begun) Read(p []byte) (int, error) {
	if len(b.first) == 0 {
		return b.Conn.Read(p)
	}
	n := copy(p, b.first)
	b.first = b.first[n:]
	return n, nil
}
