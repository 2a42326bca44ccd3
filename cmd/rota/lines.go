package main

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
)

// The limits of a queue whose reader is slow or does not read.
const (
	maxQueued = 1 << 20     // bytes
	endGrace  = time.Second // how long the process waits at its end until the last lines are written
)

// lineQueue is a writer that never blocks, because a leader must not stop when a pipe is full. A goroutine of its own writes the
// lines to another writer, in order, one at a time. If the queue is full, it drops lines. Later it writes the number of dropped
// lines at their place.
type lineQueue struct {
	to   io.Writer
	more chan struct{} // holds a value if the goroutine may have something to write; end closes it
	done chan struct{} // closed after end, when all lines are written

	mu      sync.Mutex      // guards the fields below
	queued  []piece         // not yet written
	size    int             // bytes that are queued or being written
	dropped int             // lines that were dropped since the last queued line
	report  func(lines int) // reports the number of dropped lines
	ended   bool
}

// piece is one line, or a marker. A caller that puts a marker into the queue waits until all lines before it are written.
type piece struct {
	text   []byte
	passed chan<- struct{} // nil for a line; for a marker, a channel that is closed when the goroutine reaches it
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
	case l.dropped > 0 || l.size+len(p) > maxQueued: // while a drop is not reported, later lines are dropped too, to keep the order
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

// flush waits until all queued lines are written, for at most endGrace. Callers call it before they end the process.
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

// end flushes the queue. The queue drops all later lines. If the other writer blocks, the goroutine lives until the process ends.
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
	select {
	case <-done:
	case <-time.After(atMost):
	}
}
