// Package target lets a service do the work of each run once.
//
// No scheduler can promise that: an attempt whose worker vanished may have reached its target, and rota tries it again. So rota
// gives each attempt two proofs, and the target needs both:
//
//   - The idempotency key is the same for all attempts of a run. A key that was answered before gets its first answer, and the
//     work is not done again.
//   - The fencing token rises with every attempt. An attempt with a lower token than one that the target has met is refused,
//     so that a process which was paused for an hour cannot write over newer work.
//
// Guard checks both in one transaction with the work, in the service's own PostgreSQL. Schema has the tables, and the function
// rota_enter, which programs in other languages can call. A program need not use rota's code at all.
//
// Guaranteed: for a key, the effects of the work are committed at most once, together with the answer. While a transaction
// with a higher token of the same scope has committed, one with a lower token has no effect.
//
// Not guaranteed: effects outside of the database. Work that sends a mail before its transaction ends may send it twice.
package target
