// Package handler executes Go functions that a worker's program has registered.
//
// A panic fails the attempt and not the worker. A function cannot be killed: when its context ends, Execute waits for
// it to return. If it says that its work is done, it is, unless the run was to be canceled; otherwise the context's cause
// decides the outcome. Goroutines that a function leaves behind are its own affair, and a crash in one of them (a fatal
// error, os.Exit) is the worker's end.
package handler
