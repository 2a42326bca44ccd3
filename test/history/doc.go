// Package history judges what a cluster did from what was recorded of it.
//
// A History has three sources that know nothing of each other: every version of every key of the store, what the targets
// of the jobs saw (requests, or lines that commands wrote), and the faults that were made. Check compares them with what
// rota promises: every slot decided once, every run ended once, every write entitled, every effect accounted for.
//
// It trusts no state that rota shows. What it needs of a schedule it computes itself where it can (every), and takes from
// package schedule otherwise. It does not judge how late something was.
package history
