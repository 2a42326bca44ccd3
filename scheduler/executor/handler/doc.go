// Package handler executes Go functions that a worker's program has registered.
//
// A panic fails the attempt and leaves the worker alone. A function cannot be killed: when its context ends, Execute waits
// until it returns. If the function returns nil then, the attempt succeeded, unless the cause of the context is
// executor.ErrCanceled. Otherwise the cause of the context decides the outcome.
//
// Goroutines that a function leaves behind are its own responsibility. A crash in one of them (a fatal error, os.Exit) ends the
// worker.
package handler
