// Package node runs one process of rota.
//
// A node is a replica, a worker, or both. Its parts start and stop in one order:
//
//	start:  listener ─ API ─ etcd ─ store ─ mirror ─ scheduler ─ presence ─ clocks ─ job files ─ worker ─ election
//	stop:   unready ─ resign ─ drain the worker ─ job files ─ end presence ─ close the API ─ close the store ─ close etcd
//
// A leader resigns before its worker drains, so that another replica dispatches while attempts on this node finish.
//
// A Go program that registers its own functions for jobs calls Run; see the example. The parts of a node are packages under
// cmd/rota/internal.
package node
