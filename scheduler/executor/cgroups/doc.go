// Package cgroups limits the memory, the CPU time and the number of processes of whole process trees.
//
// Below the cgroup of this process it keeps a folder of its own, with one cgroup for each tree. In the unified hierarchy
// (v2) it needs a cgroup that was delegated to this process: a systemd unit with Delegate=yes, or the root of a
// container's cgroup namespace that may be written to. This process and what else is there then moves into a leaf, since
// a cgroup with limited children may hold no processes itself. Where the controllers are in hierarchies of their own
// (v1), those are used.
//
// # What it guarantees
//
// The first process of a tree is in its cgroup before it executes its first instruction, and whatever it starts stays
// there, whichever group, session or environment it gives itself. Memory and processes are limited from then on, and CPU
// time from when that program has been loaded. Cgroups that a killed process leaves behind are
// recognized by a lock that died with it, and are emptied and removed by Sweep and by the next Open.
//
// # What it does not
//
// A process of the tree that may write to cgroups, as root's may, can leave. Memory that was swapped out before a limit
// was set is not limited, and what belongs to no process, as pages of files do, is counted to the tree that touched it
// first.
package cgroups
