package main

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
)

// The limits of a queue that its reader does not empty.
const (
	maxQueued = 1 << 20     // bytes
	endGrace  = time.Second // the time for the last lines at the end of the process
)

// lineQueue is a writer that never blocks. A goroutine of its own writes the lines to another writer, in order, one at a time. A
// leader must not stop because a pipe is full. If the queue is full, it drops lines, and later reports their number at
// their place.
type lineQueue struct {
	to   io.Writer
	more chan struct{} // holds a value when there may be work; end closes it
	done chan struct{} // closed when everything is written after end

	mu      sync.Mutex      // guards the fields below
	queued  []piece         // not yet written
	size    int             // bytes that are queued or being written
	dropped int             // lines that were dropped after the queued ones
	report  func(lines int) // reports the number of dropped lines
	ended   bool
}

// piece is one line, or a marker for a caller that waits until all lines before it are written.
type piece struct {
	text   []byte
	passed chan<- struct{} // nil for a line; closed at a marker
}

// newLineQueue starts the goroutine that writes to another writer. The caller must call end.
func newLineQueue(to io.Writer) *lineQueue {
	l := &lineQueue{to: to, more: make(chan struct{}, 1), done: make(chan struct{})}
	l.report = func(n int) {
		_, _ = fmt.Fprintf(to, "rota: %s dropped: the reader was too slow\n", counted(n, "line"))
	}
	go func() { // end waits for it
		defer close(l.done)
		for range l.more {
			l.drain()
		}
	}()
	return l
}

// Write never fails, and returns at once.
func (l *lineQueue) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.ended:
	case l.dropped > 0 || l.size+len(p) > maxQueued: // keep the order: nothing may follow until the drop is reported
		l.dropped++
		l.wake()
	default:
		l.size += len(p)
		l.queued = append(l.queued, piece{text: bytes.Clone(p)})
		l.wake()
	}
	return len(p), nil
}

// wake wakes the goroutine. The caller holds mu, and end has not been called.
func (l *lineQueue) wake() {
	select {
	case l.more <- struct{}{}:
	default:
	}
}

// drain writes the queued lines.
func (l *lineQueue) drain() {
	l.mu.Lock()
	queued, dropped, report := l.queued, l.dropped, l.report
	l.queued, l.dropped = nil, 0
	l.mu.Unlock()
	written := 0
	for _, p := range queued {
		if p.passed != nil {
			close(p.passed)
			continue
		}
		_, _ = l.to.Write(p.text) // a closed stderr is no error
		written += len(p.text)
	}
	l.mu.Lock()
	l.size -= written
	l.mu.Unlock()
	if dropped > 0 {
		report(dropped)
	}
}

// setReport sets the function that reports dropped lines. The writing goroutine calls it.
func (l *lineQueue) setReport(f func(lines int)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.report = f
}

// flush waits until the lines so far are written, at most endGrace. Callers use it before they end the process.
func (l *lineQueue) flush() {
	passed := make(chan struct{})
	l.mu.Lock()
	if l.ended {
		l.mu.Unlock()
		return
	}
	l.queued = append(l.queued, piece{passed: passed})
	l.wake()
	l.mu.Unlock()
	waitFor(passed, endGrace)
}

// end flushes the queue, which drops all later lines. If the reader is stuck, the goroutine lives until the process ends.
func (l *lineQueue) end() {
	l.mu.Lock()
	if !l.ended {
		l.ended = true
		close(l.more)
	}
	l.mu.Unlock()
	waitFor(l.done, endGrace)
}

func waitFor(done <-chan struct{}, atMost time.Duration) {
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}
