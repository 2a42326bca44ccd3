// Package worker executes the attempts that a leader hands to this process and reports how they ended.
//
// A Worker is a library too: a Go program that registers handlers runs one beside its own work.
//
// # Guarantees
//
//   - An attempt begins only after its claim, a write guarded by the revision of the record that gave the attempt to
//     this worker, has succeeded. That revision is the attempt's fencing token.
//   - An attempt begins only while this worker's session is certainly alive, and never while as many attempts are
//     executing as the worker has capacity.
//   - An outcome is in the local journal, synced, before it is sent to the store, and stays there until the store has
//     answered for certain, across restarts. Where the disk takes nothing, or does not answer, it is sent from memory.
//   - An outcome is written only onto a record that still carries the attempt's token. One that comes too late changes
//     nothing and is kept as a fenced event, whatever it is, if the attempt had begun.
//   - When the session may be over for others, the attempts that others may repeat are killed, with at most
//     executor.HurryGrace of grace, which ends before the lease does. It is not given back, and no new one is opened,
//     before they are gone and what the journal holds is delivered, within Config.SettleTimeout.
//   - The session is renewed by its owner; nothing here stands between it and its renewal.
//
// # Not guaranteed
//
// A process that is stopped between the check of its session and the first instruction of an attempt begins that
// attempt late: its token is what a target can refuse it by. A worker that dies between the end of an attempt and the
// journal's sync loses the outcome: the attempt counts as lost. A Go handler that ignores its context cannot be killed.
//
// # The life of an attempt
//
//	order ─► hold: wait until shortly before its time, for room ─► claim ─► its time ─► execute ─► journal ─► outcome ─► forget
//	            └─ stopped, shutting down, no room: recall           └─ lost to somebody: drop
//
// One shift is the time under one session. Armed runs belong to the shift, since the leader takes them back when the
// session ends; attempts and outcomes belong to the worker and outlive it.
package worker
