package main

import (
	"context"
	"io"
	"os"
	"time"
)

func main() {
	os.Exit(run(untilSignal(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run does the work of main. The arguments replace the environment, so that tests can call it. It returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	c := &cli{in: stdin, quit: ctx.Done(), out: stdout, err: stderr, now: time.Now, environ: os.Environ()}
	return c.run(ctx, args)
}
