// Package embedded runs etcd in this process, as a single member or as one of
// a cluster.
//
// What is written through a Server is as safe as in any etcd: acknowledged
// writes are on the disks of a majority. A single member guards against a
// crash and not against the loss of its disk. When a member finds that its
// disk no longer takes writes, etcd ends the whole process, because going on
// would break promises already made to other members.
//
// A cluster of three goes on when one member is lost. If that member led etcd
// and died without Close, all writes wait for an election, one to two seconds
// with the default times; a write that was on its way to the dead leader is
// lost or late, and fails only at its deadline. So give each call a short
// deadline and issue it again under the same guards. Close hands the
// leadership over before it stops, which costs no election.
//
// # Errors of the in-process client
//
// Server.Client and a client over gRPC return the same values, so
// errors.Is(err, rpctypes.ErrTooManyOps) and the like work for both. A test
// holds the table true for both clients, except where it names one:
//
//	a request that etcd refuses      rpctypes.ErrTooManyOps, ErrDuplicateKey,
//	before proposing it: not applied ErrRequestTooLarge (see below)
//	refused when applied             rpctypes.ErrLeaseNotFound
//	a read or watch too far back     rpctypes.ErrCompacted (WatchResponse.Err)
//	a read too far ahead             rpctypes.ErrFutureRev
//	the database is full             rpctypes.ErrNoSpace: treat as ambiguous,
//	                                 the write that hits the quota may apply
//	clientv3.WithRequireLeader and   rpctypes.ErrNoLeader, at once, from a
//	the member knows no leader       call: not applied
//	no leader, no quorum             context.DeadlineExceeded at the caller's
//	                                 deadline: ambiguous
//	the caller cancels               context.Canceled: ambiguous, unless the
//	                                 context was over before the call
//	etcd gives up by itself          context.DeadlineExceeded or one of
//	                                 rpctypes.ErrTimeout, ErrTimeoutDueTo…,
//	                                 ErrLeaderChanged: ambiguous
//	the Server closes                rpctypes.ErrStopped or context.Canceled:
//	                                 ambiguous
//
// etcd gives up after five seconds and two election times. In process the
// error is then context.DeadlineExceeded although the caller's context is
// alive. Over gRPC, clientv3 sends the request again in that case, a write
// too, so one call may apply twice. Calls with a deadline below those seven
// seconds never meet either.
//
// The two clients differ in this: a request over 2 MiB is stopped by the
// client over gRPC itself, as a status of codes.ResourceExhausted, and a watch
// with clientv3.WithRequireLeader ends with ErrNoLeader over gRPC only. In
// process it stays open, silent, for as long as the member is cut off; look at
// Server.LeaderID. Calls that retry (Grant, Revoke, reads) do so over gRPC only.
// The in-process client does not pass etcd's authentication: do not enable it
// for a cluster of embedded members.
package embedded
