// Package history judges a cluster by the notes of independent recorders.
//
// A History has four sources: the requests of clients with their answers, every version of every key, the effects at the
// targets of jobs, and the faults of the test. An effect is a request, or a line that a command wrote. Judge compares the
// sources with the promises of rota.
//
// Two oracles use them. The first knows only a job's definition, its effects and the faults. It does not use rota's records. It
// computes the slots (slots.go) and the windows in which they must start (targets.go), and matches the windows with the effects
// (match.go, punctual.go). The second follows identities through the store (check.go, jobs.go, effects.go). Every slot must be
// decided once, and every run must end once. Every writer must have the right to write, and every effect must have a run.
// Porcupine judges the answers to clients (linear.go). Each slot gets a grade (grade.go), and Draw makes a picture.
//
// Lateness is judged only for jobs with a Tolerance. The judge knows only what was recorded: if a fault is missing from the
// History, its effects look like violations.
package history
