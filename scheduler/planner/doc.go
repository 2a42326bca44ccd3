// Package planner decides what a leader does next.
//
// A Planner is a state machine without goroutine, clock or store. It is fed every change of the store (Apply), is asked
// what to do now (Plan), and is told what became of it (Settle). So the same code runs under a real leader and under a
// simulator that lies to it about time and loses its writes.
//
// # How it stays right
//
// A job has at most one decision under way. Every decision names the revisions that it was made from and is one
// transaction, so a planner that was told too little, too late or twice can lose a race but not break an invariant: it
// learns how the records stand and decides again. Standbys feed their planner as the leader does, and so have nothing to
// load when they take over.
//
// # How a slot is decided
//
//	slot soon ─► nothing else of the job at work, and free room? ──► armed ahead; the worker waits for its time
//	slot due ──► passed while nobody could dispatch? ──► the job's missed policy: skip a range with a reason, or go on
//	         ──► an earlier run still active?         ──► the job's overlap policy: skip, wait, or stop the earlier one
//	         ──► a worker that accepts it has room?   ──► armed there, otherwise pending until one has
//
// The run, the cursor's move past its slot, and the worker's order are one decision.
//
// A slot is skipped for overlap only by the job's own fault: the earlier run was at work when the slot was due, and would
// have been even if it had begun in time. That is known once it has ended in the ordinary way after the slot, or its worker
// is still present so long after it that its lease must have been renewed since. A run that waits for room, while there
// are workers but all are full, is reason enough, too, or else an overloaded cluster would never catch up.
//
// What is armed ahead of its time is as good as dispatched: the worker begins it whether anybody leads then or not. It is
// taken back, if nobody has begun it, when the job is paused, edited or deleted, when its worker is lost or drains, and when
// another run of the job, which may not overlap with it, is due before. A slot that was taken back is decided when its time
// has come, as if it had never been armed: overlap, missed and pause are judged by what is then. Its cursor has moved, so
// its run is kept, pending, until then. What is armed ahead takes free room only, and gives way to what is due.
//
// Slots that wait behind a run that was late, or whose worker died, were not missed by the job's own fault: they are
// decided by the missed policy once that run is over. So are those that passed while the store refused what was decided,
// or while nobody could read the job's definition.
//
// # How a run that does not end is ended
//
// Its worker ends it at its timeout; a worker that is lost has it taken away. A worker that is present and does neither is
// asked, and then the attempt is given up: see Config.StopMargin. A request to end a run is repeated until it ends.
//
// # Not guaranteed
//
// A job whose runs take longer than its period stays behind after an outage, by no more than its missed_limit. A cursor
// that is deleted by hand while nobody runs is derived from the job's history, as far as that is kept. A schedule that is
// changed while a slot of the old one is armed ahead begins after that slot: those of its own that come before are skipped.
// While nobody leads, nothing is taken back.
package planner
