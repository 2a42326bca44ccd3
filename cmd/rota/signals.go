package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// untilSignal returns a context that the first SIGINT or SIGTERM cancels. The cause of the context is an interrupted. The second
// signal ends the process at once.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() { // ends with the process
		sig := <-signals
		signal.Stop(signals)
		if sig, ok := sig.(syscall.Signal); ok {
			cancel(interrupted{sig})
		}
	}()
	return ctx
}

// stdin returns a reader of stdin whose reads end with the first signal, also while a person types nothing.
func (c *cli) stdin() io.Reader { return input{c.in, c.quit} }

// input reads from another reader until quit is closed.
type input struct {
	from io.Reader
	quit <-chan struct{}
}

// Read implements io.Reader. A signal does not end the read of a terminal or a pipe, so that read may outlive this call.
func (r input) Read(to []byte) (int, error) {
	type result struct {
		text []byte
		err  error
	}
	done := make(chan result, 1)
	own := make([]byte, len(to))
	go func() { // ends with its read, or with the process
		n, err := r.from.Read(own)
		done <- result{own[:n], err}
	}()
	select {
	case got := <-done:
		return copy(to, got.text), got.err
	case <-r.quit:
		return 0, errors.New("interrupted")
	}
}

// surviveBrokenPipes keeps this process alive if the reader of its stdout or stderr closes the pipe. By default a Go program dies
// when it writes to such a pipe. The process catches SIGPIPE and does not ignore it, because children inherit an ignored signal.
func surviveBrokenPipes() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // nobody reads the channel; the runtime drops further signals
}

// untilHangup returns a context that ends with ctx, when end is called, or when the terminal on stdin closes. If there is no
// terminal, or if the process ignores hangups (nohup), each hangup is sent to reload instead. reload is nil if a hangup ends the
// context.
func (c *cli) untilHangup(ctx context.Context) (_ context.Context, reload <-chan os.Signal, end func()) {
	attended := isTerminal(c.in) && !signal.Ignored(syscall.SIGHUP)
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP) // until end: shell and kernel both send a signal, and the second must not kill this process
	ctx, cancel := context.WithCancel(ctx)
	if !attended {
		return ctx, hangup, func() { cancel(); signal.Stop(hangup) }
	}
	done := make(chan struct{})
	go func() { // end waits for it
		defer close(done)
		select {
		case <-hangup:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, nil, func() { cancel(); <-done; signal.Stop(hangup) }
}
