package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() { // ends with the process
		sig := <-signals
		signal.Stop(signals) // the next one ends the process at once
		if sig, ok := sig.(syscall.Signal); ok {
			cancel(interrupted{sig})
		}
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is main with everything that it touches as an argument. It returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	c := &cli{in: stdin, out: stdout, err: stderr, now: time.Now, environ: os.Environ()}
	return c.run(ctx, args)
}
