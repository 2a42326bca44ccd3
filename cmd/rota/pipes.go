package main

import (
	"os"
	"os/signal"
	"syscall"
)

// outliveReaders keeps this process from being ended by a log whose reader is gone: as a rule a Go program dies of a write to
// a broken pipe that is its stdout or stderr. The signal is caught and not ignored, since children would inherit that. It
// stays so: what is said last must not change the exit code.
func outliveReaders() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // nobody receives; what does not fit is dropped
}
