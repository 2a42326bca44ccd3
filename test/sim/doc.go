// Package sim runs whole clusters in simulated time, breaks them as a seed says, and has package history judge what happened.
//
// The planner, the group commit, the elector, its witness and the workers are the product's own, wired as package node wires
// them, journals on real files included. What is simulated is what lies around them: the store (package store/mem, behind
// ordinary etcd clients), the links to it, the clocks, the processes' lives and what jobs do. A cluster lives in a bubble
// of testing/synctest, so hours pass in a second, and nothing in it waits for the machine.
//
// A seed decides all that the simulation itself leaves to chance: jobs, faults and when they come, the fate and latency of
// each request, clocks, durations. What stays open is the order in which Go runs goroutines at one instant, and the jitter
// of the product's own pauses. So a seed that failed may pass; -sim.repeat runs it again and again.
//
// Not simulated: the files and processes of executors, the HTTP interface, embedded etcd. A paused process is one whose
// requests arrive when it goes on, whose watches are silent, whose scheduler and executions stand still; its timers run on.
package sim
