// Package embedded runs etcd in this process, as a single member or as one of
// a cluster.
//
// Writes through a Server are as safe as in any etcd: acknowledged writes are on
// the disks of a majority. A single member survives a crash, but not the loss of
// its disk. If the disk of a member rejects writes, etcd ends the whole process.
// To continue would break its promises to the other members.
//
// A cluster of three continues without one member. If that member led etcd and
// died without Close, all writes wait for an election, one to two seconds with
// the default times. A write that was under way to the dead leader is lost or
// late, and fails only at its deadline. So give each call a short deadline and
// send it again under the same guards. Close hands over the leadership before it
// stops, so no election is needed.
//
// # Errors of the in-process client
//
// Server.Client and a client over gRPC return the same errors, so
// errors.Is(err, rpctypes.ErrTooManyOps) and the like work for both. A test
// checks the table for both clients, except where it names one:
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
// etcd gives up after five seconds and two election times. In process the error
// is then context.DeadlineExceeded, although the caller's context has not ended.
// Over gRPC, clientv3 then sends the request again, writes included, so one call
// may apply twice. A call with a deadline below those seven seconds avoids both.
//
// The two clients have these differences. The client over gRPC itself rejects a
// request over 2 MiB, with codes.ResourceExhausted. A watch with
// clientv3.WithRequireLeader ends with ErrNoLeader over gRPC only. In process it
// stays open and silent while the member is partitioned; check Server.LeaderID.
// Grant, Revoke and reads are retried over gRPC only. The in-process client
// bypasses etcd's authentication, so do not enable that for a cluster of
// embedded members.
package embedded
