// Package election elects, through etcd, one leader among several processes.
//
// It guarantees that, of all writes that carry [Term.Held], only those of one term take effect at any revision, and that terms
// rise. It does not guarantee that a deposed leader learns at once that it is deposed. If its process is paused or its machine
// is suspended, it acts as leader for a moment longer. So a leader acts only through guarded writes, and everything else that
// it does must tolerate being done twice. No function here answers "do I lead?"; code that needs leadership takes a [Term].
//
// # States
//
//	┌──────────┐ key found  ┌───────────┐  first in   ┌────────────┐  guarded   ┌────────┐
//	│ follower ├───────────►│ candidate ├────────────►│ confirming ├───────────►│ leader │
//	└──────────┘  in etcd   └─────┬─────┘  the queue  └─────┬──────┘  write     └───┬────┘
//	     ▲                        │ lease or key lost,      │ guard failed          │ term lost, stop,
//	     │                        │ stop                    │                       │ or lead returned
//	     │                        ▼                         ▼                       ▼
//	     │  key deleted,    ┌───────────────────────────────────────────────────────────┐
//	     └──────────────────┤                        resigning                          │
//	        lease revoked   └───────────────────────────────────────────────────────────┘
//
// One turn through the states is a candidacy: one lease, one session, one key, at most one term. The next candidacy uses none of
// them again. Resigning waits for lead to return. Then it deletes the key under the guard of its create revision, which hands
// over within milliseconds, and revokes the lease. If etcd does not answer, resigning gives up after two seconds, and the expiry
// of the lease removes both. Candidacies are separated by a pause with jitter, so that a replica that leads badly lets others
// lead.
//
// # When a term ends
//
// The context given to lead ends, with a cause that wraps [ErrTermLost],
//   - when the last successful renewal was sent TTL minus margin ago, on the monotonic clock: etcd began to count the TTL after
//     that, so it cannot have expired the lease yet;
//   - when etcd answers that the lease is gone;
//   - when etcd answered only renewals for twice the TTL, and for at least 10 s: our member may hang, and it still forwards
//     renewals to etcd's leader;
//   - when a watch finds our key deleted, or the read every RenewEvery, which covers for a watch that hangs;
//   - when the monotonic, wall and boot clocks differ by more than a second within a quarter of a second: the machine was
//     suspended, and the deadline is nearer than it seems, or the wall clock was set.
//
// It ends with [ErrStopped] when Run's context ends. The leader then holds the term until lead has returned.
//
// # Leaders that decide by the clock
//
// The election never depends on wall clocks, but the decisions of a leader may. [PeerClocks] has the measured offsets of the
// other replicas' clocks. [Elector.RunTrusted] campaigns only while most of them agree with our clock. After a leader's clock
// was set, it is compared again before that replica leads again.
//
// # Use of package concurrency
//
// The keys are those of concurrency.Election: the prefix, and the lease ID in hexadecimal. The oldest create revision leads.
// Session and Campaign do the waiting. So candidates share the queue with etcdctl elect and with every other user of that
// package. What Session and Campaign report is only a hint, because
//   - Campaign checks neither its session nor its own key. If the lease is gone, it returns success in its turn or waits for
//     ever. Here the queue is read every RenewEvery. A win counts only after a transaction has written our value; it compares
//     the create revision of our key and checks that no key is older;
//   - Campaign cleans up on its client's context, without a deadline. Here that client shares the connections of the real one
//     but ends with the candidacy, so the clean-up cannot block. Resigning does that work;
//   - the keep-alive stream of a session stays on one endpoint and ends with it. Here a [Lease] is also renewed by single calls
//     with short deadlines, each on another endpoint. Session.Done only starts a renewal at once.
//
// # Requirements of the client
//
// The client needs all endpoints. Over gRPC it needs a DialKeepAliveTime of 10 s with a timeout of 3 s, so that it gives up
// silent connections. Deadlines are set here, per call. An in-process client works as well. A client with a password logs in
// for each stream that it opens; with [ReuseStreams] its renewals open few.
package election
