// Package verify proves on the records of a live store that rota's invariants hold.
//
// It checks the records at one revision, and the changes that led to them as far back as etcd has not compacted them.
// The numbers of the invariants are those of the documentation's page on guarantees. Package verify cannot detect
// effects that left no trace in the store, such as those of a machine that was paused beyond its lease. A target that
// checks fencing tokens can.
package verify
