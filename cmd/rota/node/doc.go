// Package node wires one process of rota together and runs it until it is told to stop.
//
// A node is a replica, a worker, or both. What it is made of starts and stops in one order:
//
//	start:  listener ─ API ─ etcd ─ store ─ mirror ─ scheduler ─ presence ─ clocks ─ job files ─ worker ─ election
//	stop:   unready ─ resign ─ drain the worker ─ job files ─ end presence ─ close the API ─ close the store ─ close etcd
//
// It resigns before it drains, so that another replica dispatches while the attempts here run to their end.
//
// The package has three parts: the wiring (node.go and what it starts), the API's backend (backend.go, with a file for each of
// its interfaces), and the job files (files.go and those whose names begin like it, enforce.go, enforcelimits.go).
package node
