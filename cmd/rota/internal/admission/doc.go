// Package admission keeps a process away from a restored store until an operator accepts that store.
//
// A process records on its own disk which store it uses, and the revision that the store has reached. If a store has a lower
// revision than the recorded one, it was restored from a backup. The fencing tokens and cursors of such a store are old. A
// process that used them could repeat runs.
package admission
