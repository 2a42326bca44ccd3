// Package schedule computes the slots of a job: the instants, in UTC, at which its schedule says it should run.
//
// It is pure arithmetic over a [Spec]: no clock, no goroutine, no store. Two processes with the same Spec and the
// same time zone database compute the same slots.
//
// # Guarantees
//
//   - [Schedule.Next] returns a slot strictly after its argument, or says that there is none. Slots are a set:
//     an instant is one slot, even if several expressions or wall times lead to it.
//   - A slot is a whole millisecond; the slots of a cron expression are whole seconds.
//   - A job with a fixed time of day has exactly one slot for each day of its zone's calendar (with the default dst settings).
//   - Every call does a bounded amount of work, even for expressions that never fire.
//
// # Not guaranteed
//
//   - Zones come from the machine's database. If the machine has none, they come from the copy in the binary
//     (time/tzdata). Replicas with different databases compute different slots where the rules differ.
//   - Next searches the 100 years after its argument (or after start), and at most until the year 9999.
//
// # Cron expressions
//
// Five fields (minute, hour, day, month, weekday) or six (second first). They may have names, lists, ranges, ranges that
// wrap (22-2) and steps. Days may be L, L-3, LW, 15W, FRI#2, FRI#L or 5L (the last Friday). The words @hourly, @daily,
// @midnight, @weekly, @monthly, @yearly, @annually and @every D stand for whole expressions.
//
// H is a number hashed from the job's name. It is the same on every replica, and spreads jobs out. H(0-29), H/15 and
// H(0-29)/10 work too. H in day of month is at most 28.
//
// When day of month and day of week are both restricted, either one is enough. If one of them begins with *, both must
// match: "0 0 */2 * mon" means Mondays with an odd date. Vixie cron and cronie do the same. Kubernetes takes either one there.
//
// # Clock changes
//
// An expression is matched against the wall clock of the job's zone. When that clock is put forward or back, the
// result depends on the kind of expression, as in Vixie cron.
//
// An expression with a fixed time of day has a wall time for each day. One that the clock jumps over is moved
// forward by the length of the jump (gap: run; 02:30 becomes 03:30) or dropped (gap: skip). One that the clock
// shows twice counts at its first showing, its last, or at both (fold). When a whole day is missing from the
// calendar (Apia, 2011-12-30) its wall times land on those of the day after.
//
// An expression whose minute or hour is *, */n or H/n follows elapsed time: it has a slot whenever the clock really
// shows a matching time. So "*/30 * * * *" is every 30 real minutes, even on the days of a change. Such a schedule
// ignores gap and fold. Its hour may be restricted too, as in "*/15 2 * * *" and
// "0 */2 * * *". Then the slots of an hour that the clock jumps over do not occur, and those of an hour shown twice occur
// twice. [Schedule.Notes] reports this. To
// use gap and fold instead, spell the field out: "0,15,30,45 2 * * *", "0 0-22/2 * * *".
//
// "every" counts milliseconds since 1970-01-01T00:00:00Z and ignores clock changes.
//
// An excluded date drops the slots that fall on it in the job's zone. For a slot that was moved past midnight, the date
// on which it runs counts.
package schedule
