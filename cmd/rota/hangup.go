package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// untilHangup returns a context that ends with ctx, with end, or when the terminal that stdin is goes away: nobody would see
// what runs on, nor know whom to stop. Without a terminal, or when hangups are ignored (nohup), a hangup comes by reload
// instead.
func (c *cli) untilHangup(ctx context.Context) (_ context.Context, reload <-chan os.Signal, end func()) {
	attended := isTerminal(c.in) && !signal.Ignored(syscall.SIGHUP)
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP) // until end: the shell and the kernel both send one, and the second must not kill
	ctx, cancel := context.WithCancel(ctx)
	if !attended {
		return ctx, hangup, func() { cancel(); signal.Stop(hangup) }
	}
	done := make(chan struct{})
	go func() { // waited for by end
		defer close(done)
		select {
		case <-hangup:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, nil, func() { cancel(); <-done; signal.Stop(hangup) }
}
