// Package planner makes the decisions of a leader.
//
// A Planner is a state machine without goroutines, a clock or a store. Apply feeds it every change of the store, Plan returns
// what to do now, and Resolve takes the store's answer. So a real leader runs the same code as a simulator that shows it
// wrong clocks and loses its writes.
//
// # Why it is safe
//
// A job has at most one decision under way. Every decision names the revisions that it depends on, and is written in one
// transaction. A planner that learns of changes too late, or twice, can lose a race but cannot break an invariant: the store
// refuses the decision, and the planner decides again. Followers feed their planner as the leader does, so they load nothing
// when they take over.
//
// # How a slot is decided
//
//	slot soon ─► no other run of the job, and free room?  ──► armed ahead; its worker waits for its time
//	slot due ──► passed while no leader could dispatch?   ──► missed policy: skip a range with a reason, or go on
//	         ──► an earlier run still active?             ──► overlap policy: skip, wait, or stop the earlier run
//	         ──► a worker that accepts it has room?       ──► armed there, otherwise pending until one has
//
// One decision contains the run, the worker's order, and the move of the cursor past the slot.
//
// # When a slot is skipped for overlap
//
// A slot is skipped only if the overlap is the job's own fault. This means that the earlier run was active when the slot was
// due, and would have been even if it had started in time. The planner knows this in two cases. The run ended normally after
// the slot. Or its worker is present so long after the slot that its lease was renewed since.
//
// A run that waits because all workers are full also counts. Otherwise an overloaded cluster would never catch up.
//
// A slot that waits only because the earlier run was late or its worker died does not wait through the job's own fault. The missed
// policy decides it once that run is over. It also decides slots that passed while the store refused decisions, or while the
// job's definition was unreadable. But a slot that would have met the late run also without its delay is skipped, unless nobody
// could dispatch at its time. Otherwise a job with missed: all whose runs take longer than its interval would never catch up.
//
// # Arming ahead
//
// The worker of a run that is armed ahead starts it at its time, with or without a leader. Such a run takes
// free room only, and gives way to runs that are due.
//
// The planner takes it back in these cases, unless it has started:
//
//   - The job is paused, edited or deleted.
//   - Its worker is lost or drains.
//   - Another run of the job is due before it, and the two may not overlap.
//
// The cursor has moved, so the run stays pending. When its slot is due, it is decided as if it had never been armed. The
// overlap policy, the missed policy and the pauses of that time count.
//
// # How an overdue run is ended
//
// A worker ends its run at the timeout. A lost worker loses its runs. If a present worker does not end a run, the
// leader asks it to stop the run, and later gives the attempt up. Config.StopMargin and Config.StopPatience set the times. A
// request to stop a run is repeated until the run ends.
//
// # Not guaranteed
//
//   - A job whose runs take longer than its period stays behind after an outage, by at most its missed_limit.
//   - If a cursor is deleted by hand while no replica runs, the planner derives it from the kept history of the job.
//   - If a schedule changes while a slot of the old one is armed ahead, the new schedule starts after that slot. Its earlier
//     slots are skipped.
//   - While there is no leader, no run is taken back from its worker.
package planner
