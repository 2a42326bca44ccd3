// Package history judges what a cluster did from what was recorded of it.
//
// A History has sources that know nothing of each other: what clients asked and were told, every version of every key of the
// store, what the targets of the jobs saw (requests, or lines that commands wrote), and the faults that were made. Judge
// compares them with what rota promises.
//
// Two oracles look at it. The first knows a job's definition, its effects and the faults, and nothing that rota says: it
// computes the slots (slots.go), the windows in which they must begin (targets.go), and matches these with the effects
// (match.go, punctual.go). The second follows identity through the store: every slot decided once, every run ended once,
// every write entitled, every effect accounted for (check.go, jobs.go, effects.go). What clients were told goes to porcupine
// (linear.go). Each slot gets a grade (grade.go), and Draw makes a picture of it all.
//
// How late something was is judged for jobs with a Tolerance only. Nothing is said about what was not recorded: a fault that
// is missing from the History makes what it did look like a broken promise.
package history
