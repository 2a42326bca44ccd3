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
//     after these attempts have ended and the journal's outcomes are delivered, or after Config.SettleTimeout.
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
//		job.Order ─► assignment ─► armedRun ────────────────► attempt ──────────────► report ─────────────────► store
//		 receive      assign        prepareClaim, plan: wait    scheduleAttempt: wait   journal.add: sync         journal.remove
//		                            tryClaim: room, claim       perform, execute        send, deliver
//		                             │                                                   └─ too late: fenced event
//		                             ├─ stopped, draining, no room, changed: recall
//		                             └─ record changed: drop
//
//	  - assignment: the run as the leader wrote it.
//	  - armedRun: waits until shortly before the run's time, and claims it. It belongs to the shift, the time under one
//	    session, since the leader takes armed runs back when the session ends.
//	  - attempt: waits for its start, and executes. It belongs to the worker and outlives the shift.
//	  - report: the outcome and the decision about a retry, which policy.DecideRetry makes. It is in the journal until the
//	    store has it.
package worker
