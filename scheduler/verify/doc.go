// Package verify proves on the records of a live store that rota's invariants hold.
//
// It sees what is in the store at one revision, and the changes that led there as far back as etcd still knows them.
// The numbers of the invariants are those of the documentation's page on guarantees. What left no trace in the store,
// such as what a paused machine did beyond its lease, cannot be seen here; a target that checks fencing tokens can.
package verify
