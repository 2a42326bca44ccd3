// Package executor carries out attempts: a command, an HTTP request or a Go function, behind one interface.
//
// # What it guarantees
//
// Execute returns when the attempt has ended, whatever way: of its own accord, or because its context did. It never
// panics, never retries by itself, and reports what it saw as a job.Outcome with the reason in plain words. Values of
// ${env:} and ${file:} references are hidden in the captured output and in reasons where they stand as they are; what a program
// encodes, splits or abbreviates gets through (see Redactor).
//
// # What it does not
//
// It does not know the store, leases, tokens' validity or retry policies: the worker cancels the context with one of
// the causes below, and decides what an outcome means for the run. What an attempt has done to the world is not undone:
// a request that was given up may still be served, and a Go function that ignores its context is waited for.
package executor
