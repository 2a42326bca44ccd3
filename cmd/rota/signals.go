package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// untilSignal returns a context that the first SIGINT or SIGTERM cancels, with interrupted as the cause. The second signal ends
// the process at once.
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

// surviveBrokenPipes lets this process survive the reader of its stdout or stderr. By default a Go program dies when it writes to
// a closed pipe there. The signal is caught and not ignored, because children would inherit that.
func surviveBrokenPipes() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // nobody reads the channel; the runtime drops further signals
}

// untilHangup returns a context that ends with ctx, with end, or when the terminal on stdin closes. If there is no terminal, or
// the process ignores hangups (nohup), it sends hangups to reload instead. reload is nil with a terminal.
func (c *cli) untilHangup(ctx context.Context) (_ context.Context, reload <-chan os.Signal, end func()) {
	attended := isTerminal(c.in) && !signal.Ignored(syscall.SIGHUP)
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP) // until end: shell and kernel both send a signal, and the second must not kill
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
