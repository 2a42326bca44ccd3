package main

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
)

// How much is kept of what nobody has taken yet, in bytes, and how long the end of a process waits for it to be taken.
const (
	lineRoom  = 1 << 20
	lastWords = time.Second
)

// lineQueue is a writer that keeps nobody waiting: a goroutine of its own passes on what is written, each piece by itself and
// in the order in which it came. A leader must not stand still because a pipe is full. What finds no room is dropped; once
// there is room, it is told how many pieces that were, where they would have stood.
type lineQueue struct {
	to   io.Writer
	more chan struct{} // holds one when there may be something to pass on; closed by end
	done chan struct{} // closed when all is passed on after end

	mu      sync.Mutex      // guards what follows
	queued  []piece         // what is to be passed on
	held    int             // bytes, of these and of those that are being passed on
	dropped int             // after all that is queued
	tell    func(lines int) // says that so many were dropped
	ended   bool
}

// piece is one line, or whoever waits until those before it are passed on.
type piece struct {
	text   []byte
	passed chan<- struct{} // nil for a line; closed
}

// newLineQueue starts the goroutine that writes to another writer. The caller must end it.
func newLineQueue(to io.Writer) *lineQueue {
	l := &lineQueue{to: to, more: make(chan struct{}, 1), done: make(chan struct{})}
	l.tell = func(n int) {
		_, _ = fmt.Fprintf(to, "rota: nobody took what was said here in time: %s dropped\n", counted(n, "line"))
	}
	go func() { // waited for by end
		defer close(l.done)
		for range l.more {
			l.passOn()
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
	case l.dropped > 0 || l.held+len(p) > lineRoom: // nothing overtakes what was dropped before it
		l.dropped++
		l.wake()
	default:
		l.held += len(p)
		l.queued = append(l.queued, piece{text: bytes.Clone(p)})
		l.wake()
	}
	return len(p), nil
}

// wake has the goroutine look for what there is to do. The caller holds mu, and end has not been called.
func (l *lineQueue) wake() {
	select {
	case l.more <- struct{}{}:
	default:
	}
}

// passOn writes what is queued.
func (l *lineQueue) passOn() {
	l.mu.Lock()
	now, dropped, tell := l.queued, l.dropped, l.tell
	l.queued, l.dropped = nil, 0
	l.mu.Unlock()
	written := 0
	for _, p := range now {
		if p.passed != nil {
			close(p.passed)
			continue
		}
		_, _ = l.to.Write(p.text) // whoever closed stderr does not want to know
		written += len(p.text)
	}
	l.mu.Lock()
	l.held -= written
	l.mu.Unlock()
	if dropped > 0 {
		tell(dropped)
	}
}

// setTell says how it is told that lines were dropped. f runs in the goroutine that writes.
func (l *lineQueue) setTell(f func(lines int)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tell = f
}

// flush waits for what has been written so far, but not for long: for those who are about to end the process.
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
	waitFor(passed, lastWords)
}

// end is flush, after which everything is dropped. A goroutine that writes to somebody who takes nothing goes on until the
// process ends.
func (l *lineQueue) end() {
	l.mu.Lock()
	if !l.ended {
		l.ended = true
		close(l.more)
	}
	l.mu.Unlock()
	waitFor(l.done, lastWords)
}

func waitFor(done <-chan struct{}, atMost time.Duration) {
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}
