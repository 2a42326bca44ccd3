// Package executor executes attempts behind one interface, whatever their kind of action.
//
// # Guarantees
//
//   - Execute returns when the attempt has ended, by itself or because its context ended.
//   - It never panics and never retries. It returns the result as a job.Outcome with a reason in plain words.
//   - Values of ${env:} and ${file:} references are hidden in the captured output and in reasons. A value that a
//     program encodes, splits or abbreviates is not hidden: see Redactor.
//
// # Not guaranteed
//
//   - This package does not know the store, leases, tokens or retry policies. The worker cancels the context with one
//     of the causes of interrupt.go, and decides whether the run gets another attempt.
//   - The effects of an attempt are not undone. The target may still serve a canceled request, and Execute waits for
//     a Go function that ignores its context.
package executor
