package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mattn/go-isatty"
)

// cli holds the parts that all commands share: the streams, the clock, the environment and the global flags.
type cli struct {
	in       io.Reader
	quit     <-chan struct{} // closed by the first signal that ends the command; nil: no signal does
	out, err io.Writer
	lines    *lineQueue // the queue in front of err; nil until queueErr is called
	now      func() time.Time
	environ  []string

	server    string
	tokenFile string
	readStdin sync.Once // guards the next two fields
	stdinText string    // token that stdin held
	stdinErr  error
	cacert    string
	cert      string
	certKey   string
	format    format
	noColor   bool
	pageable  bool   // the command only reads, so a pager may show its text
	altering  bool   // the command changes something before it prints
	made      string // what the command has changed, as a sentence; empty: unknown
	watching  bool   // the command goes on until a signal
	headed    bool   // the header of custom-columns is printed already
	drawing   bool   // the command owns the whole screen, so a note would disturb it
	rawOutput bool   // control sequences of jobs reach the terminal
}

// getenv returns the value of an environment variable, "" if it is not set. The last of several values wins.
func (c *cli) getenv(name string) string {
	for _, kv := range slices.Backward(c.environ) {
		if k, v, _ := strings.Cut(kv, "="); k == name {
			return v
		}
	}
	return ""
}

// colored reports whether escape sequences may go to stdout.
func (c *cli) colored() bool {
	return !c.noColor && c.getenv("NO_COLOR") == "" && c.getenv("TERM") != "dumb" && isTerminal(c.out)
}

// jobOutput returns the writer for the output of jobs. If stdout is a terminal, the writer passes only text and colors.
func (c *cli) jobOutput() io.Writer {
	if c.rawOutput || !isTerminal(c.out) {
		return c.out
	}
	return &safeWriter{to: c.out}
}

// interactive reports whether a person can answer a question.
func (c *cli) interactive() bool { return isTerminal(c.in) && isTerminal(c.err) }

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// printErr writes a message to stderr, where it does not mix with the output. It ignores the error of a closed stderr. A message
// may hold words of other people, such as the reason of a cancellation, so its control characters do not reach the terminal.
func (c *cli) printErr(format string, args ...any) {
	_, _ = io.WriteString(c.err, printable(fmt.Sprintf(format, args...), '\n', '\t')+"\n")
}

// printNote prints a note for people, unless the command shows the same on a screen that it owns.
func (c *cli) printNote(format string, args ...any) {
	if !c.drawing {
		c.printErr("note: "+format, args...)
	}
}

// queueErr makes writes to stderr return at once, even if the reader of stderr is slow. Only commands that run for a long time
// use it. endErr waits for the last lines.
func (c *cli) queueErr() {
	c.lines = newLineQueue(c.err)
	c.err = c.lines
}

func (c *cli) endErr() {
	if c.lines != nil {
		c.lines.end()
	}
}

// sleep waits for d. It returns the cause of ctx if ctx ends earlier.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
