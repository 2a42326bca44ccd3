// Package mem is an etcd in memory: one server, any number of ordinary
// *clientv3.Client values on it, and faults on demand, for tests and for
// simulation under testing/synctest.
//
// It keeps etcd's semantics, not its form: revisions, versions, leases,
// transactions (nested ones too), watches, compaction, limits and errors are
// those of etcd 3.7, and package storetest holds both to the same suite. Key-value
// calls and leases run through the client's own code down to its gRPC
// interface. The watcher is our own, since the client's blocks on a channel
// of package clientv3, which stops the clock of a synctest bubble.
//
// It is not durable, not replicated and has no users or roles. Where etcd's
// timing is free, it takes one point of the freedom: a call takes no time, a
// watch from an old revision starts at once, compaction is physical at once,
// and a lease that has run out is revoked at the next multiple of
// Config.ExpiryInterval. Progress notifications come without jitter.
//
// A Server and its clients belong to the synctest bubble they are made in.
package mem
