// Package mem is an etcd in memory for tests, also under testing/synctest.
//
// It is one server with any number of ordinary *clientv3.Client values, and it
// can produce faults on demand.
//
// It keeps the semantics of etcd 3.7: revisions, versions, leases, nested
// transactions, watches, compaction, limits and errors. Package storetest runs
// the same tests on mem and on etcd. Key-value calls and leases use the
// client's own code; only its gRPC interface is replaced. The client's watcher
// is replaced too: it blocks on a channel of package clientv3, and so stops the
// clock of a synctest bubble.
//
// The server is not durable, not replicated and has no users or roles. Where
// etcd's timing may vary, mem always behaves in one way. A call takes no time.
// A watch from an old revision starts at once. A compaction removes old
// versions at once. An expired lease is revoked at the next multiple of
// Config.ExpiryInterval. Progress notifications have no jitter.
//
// A Server and its clients belong to the synctest bubble that created them.
package mem
