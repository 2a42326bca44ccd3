// Package worker executes the attempts that a leader assigns to this process.
//
// A Worker is a library too: a Go program that registers handlers runs one beside its own work.
//
// # Guarantees
//
//   - An attempt begins only after its claim has succeeded. The claim is a write that compares the revision of the record
//     that assigned the attempt to this worker. The revision is the attempt's fencing token.
//   - An attempt begins only while this worker's session is certainly alive, and while fewer attempts execute than the
//     worker has capacity.
//   - An outcome is in the local journal, synced, before it is sent to the store. It stays there, across restarts, until
//     the store has given a definite answer. If the disk is full or does not answer, the outcome is sent from memory.
//   - An outcome is written only to a record that still carries the attempt's token. An outcome that comes too late changes
//     nothing. If the attempt had begun, it is kept as a fenced event.
//   - When others may think the session over, the worker kills the attempts that other workers may repeat. They have at
//     most executor.HurryGrace, which ends before the lease does. The session is given back, and a new one opened, only
//     after these attempts have ended and the journal's outcomes are delivered, or after settleTimeout.
//   - The owner of the session renews it. Nothing in this package delays a renewal.
//
// # Not guaranteed
//
//   - A process that is suspended between the check of its session and the first instruction of an attempt begins the
//     attempt late. Its target can refuse it by its token.
//   - A worker that dies between the end of an attempt and the journal's sync loses the outcome: the attempt counts as lost.
//   - A Go handler that ignores its context cannot be killed.
//
// # The life of a run on its worker
//
// A run is one object after the other: an assignment, an armedRun, an attempt and a report.
//
//	job.Order
//	   │  receive                  one order assigns many runs
//	assignment
//	   │  assign
//	armedRun                       waits until shortly before its time, for a place among the executing attempts
//	   ├─ recall ───────────────►  pending again: stopped, draining, no room, definition changed
//	   ├─ drop                     the record was changed
//	   │  claim                    written if the record is unchanged
//	attempt                        waits for its start
//	   │  execute                  by the executor of its kind
//	report                         the outcome, and the retry that policy.DecideRetry grants
//	   │  journal.add              synced to the local disk
//	   │  deliver                  written if the record still has the token
//	   ├─ fencedEvent              otherwise
//	   │  journal.remove           after a definite answer of the store
//	job.Run                        the record, with the outcome
//
// Assignments and armed runs belong to the shift, which is the time of the worker under one session: the leader takes them
// back when the session ends. Attempts and reports belong to the worker and outlive the shift.
package worker
