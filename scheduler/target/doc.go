// Package target lets a service do the work of each run only once.
//
// No scheduler can promise this alone. If a worker vanishes, its attempt may have reached the target, and rota tries the run
// again. So rota gives each attempt two proofs, and the target needs both:
//
//   - The idempotency key is the same for all attempts of a run. If a key was answered before, the target repeats the first
//     answer and does not do the work again.
//   - The fencing token rises with every attempt. If the target has met a higher token, it refuses the attempt. So a process
//     that was paused for an hour cannot overwrite newer work.
//
// Guard checks both proofs in one transaction with the work, in the service's own PostgreSQL. Schema has the tables, and the
// function rota_enter, which programs in other languages can call. A program need not use rota's code at all.
//
// Guaranteed: for a key, the effects of the work are committed at most once, together with the answer. After a transaction with a
// higher token of the same scope has committed, a transaction with a lower token has no effect.
//
// Not guaranteed: effects outside of the database. If the work sends a mail before its transaction ends, it may send the mail
// twice.
package target
