// Package admission keeps a process off a restored store until an operator accepts that store.
//
// A process records on its own disk which store it uses, and the revision that the store has reached. If a store has a lower
// revision than the recorded one, it was restored from a backup. Its fencing tokens and cursors are old, so a process that used it
// could repeat runs.
package admission
