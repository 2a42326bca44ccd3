// Package sim runs whole clusters in simulated time, with faults from a seed, for package history to judge.
//
// The planner, the group commit, the elector, its witness and the workers are rota's own code. They are wired as in package
// node, with journals on real files. Everything around them is simulated: the store (package store/mem, behind ordinary etcd
// clients), the links to it, the clocks, the lives of processes, and the work of jobs. A cluster lives in a bubble of
// testing/synctest. So hours pass in a second, and the speed of the machine does not matter.
//
// A seed decides everything that the simulation leaves to chance: jobs, faults and their times, the fate and latency of each
// request, clocks and durations. It does not decide the order of goroutines at one instant, nor the random parts of rota's own
// pauses. So a seed that failed may pass; -sim.repeat repeats it.
//
// The simulation has no files and processes of executors, no HTTP interface and no embedded etcd. In a paused process, requests
// arrive when it continues, watches are silent, and the scheduler and executions stand still, but its timers run.
package sim
