// Package election decides, through etcd, which one of several processes leads.
//
// It guarantees that of all writes that carry [Term.Held] only those of one term take effect at any revision, and that terms
// rise. It does not guarantee that a deposed leader knows at once that it is one: a process that is paused, or a machine
// that is suspended, goes on for an instant as if it led. So a leader acts through guarded writes only, and whatever else it
// does must bear being done twice. Nothing here answers "do I lead?"; code that needs leadership takes a [Term].
//
// # States
//
//	┌──────────┐  key seen  ┌───────────┐  first in   ┌────────────┐  guarded   ┌────────┐
//	│ follower ├───────────►│ candidate ├────────────►│ confirming ├───────────►│ leader │
//	└──────────┘  in etcd   └─────┬─────┘  the queue  └─────┬──────┘  write     └───┬────┘
//	     ▲                        │ lease or key lost,      │ guard failed          │ term lost, stop,
//	     │                        │ stop                    │                       │ or lead returned
//	     │                        ▼                         ▼                       ▼
//	     │  key deleted,    ┌───────────────────────────────────────────────────────────┐
//	     └──────────────────┤                        resigning                          │
//	        lease revoked   └───────────────────────────────────────────────────────────┘
//
// One turn through the states is a candidacy: one lease, one session, one key, at most one term. Nothing of it is used
// again. Resigning waits for lead to return, then deletes the key under the guard of its create revision, which hands over
// within milliseconds, then revokes the lease. If etcd cannot be reached it gives up after two seconds, and the lease's
// expiry does both. Between two candidacies lies a pause with jitter, so a replica that leads badly lets others lead.
//
// # When a term ends
//
// The context given to lead ends, with a cause that wraps [ErrTermLost],
//   - when the last good renewal was sent TTL minus margin ago, on the monotonic clock: etcd cannot have given the lease to
//     expiry by then, since it began to count the TTL after the renewal was sent;
//   - when etcd says that the lease is gone;
//   - when nothing but renewals has been answered for twice the TTL, and 10 s at least: the member that we ask takes nothing
//     on any more, which a renewal, passed on to the one that leads etcd, does not show;
//   - when a watch, or the read every RenewEvery that covers for a deaf watch, finds our key deleted;
//   - when the monotonic, wall and boot clocks went more than a second apart within a quarter of one: the machine was
//     suspended, and the deadline is further away than it should be, or the clock was set.
//
// With [ErrStopped] it ends when Run's context does; the term is then still held until lead has returned.
//
// # Leaders that decide by the clock
//
// Who leads never depends on wall clocks, but what a leader decides may. [PeerClocks] holds what was measured of the other
// replicas' clocks, however that was done, and [Elector.RunTrusted] stands for election only while most of them agree with
// ours. A leader whose clock was set has it compared again before it leads the next time.
//
// # What is used of package concurrency
//
// Keys are those of concurrency.Election (prefix, lease id in hexadecimal, the oldest create revision leads), and Session
// and Campaign do the waiting, so candidates queue up with those of etcdctl elect and of any other user of that package,
// each of which waits for the one before it. What Session and Campaign say is taken for a hint, because
//   - Campaign does not look at its session or its own key: one whose lease is gone returns success when its turn would have
//     come, or waits for ever. Here the queue is read every RenewEvery, and a win is believed only after a transaction that
//     compares our key's create revision, and that nobody is older, has written our value;
//   - Campaign cleans up on its client's context, without a deadline. Here that client is one that shares the real one's
//     connections but ends with the candidacy, so the clean-up cannot block; our own does the work;
//   - a session's keep-alive stream stays on one endpoint and dies with it. Here a [Lease] is renewed beside it by single
//     calls with short deadlines, which take another endpoint each. Session.Done only makes us renew at once.
//
// # What the client should bring
//
// All endpoints, and for gRPC a DialKeepAliveTime of 10 s with a timeout of 3 s, so that connections that died in silence
// are given up. Deadlines are set here, per call. An in-process client works as well. One with a password logs in for each
// stream that it opens, so [ReuseStreams] has its renewals open few.
package election
