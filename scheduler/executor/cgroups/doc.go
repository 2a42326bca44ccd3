// Package cgroups limits the resources of whole process trees: memory, CPU time, number of processes.
//
// Below the cgroup of this process it keeps its own folder, with one cgroup for each tree. In the unified hierarchy (v2)
// it needs a cgroup that was delegated to this process: a systemd unit with Delegate=yes, or the writable root of a
// container's cgroup namespace. All processes of that cgroup move into a leaf, since a cgroup with limited children may
// hold no processes itself. Where controllers have their own hierarchies (v1), the package uses those.
//
// # Guarantees
//
//   - The first process of a tree is in its cgroup before its first instruction. All its descendants stay there,
//     whatever group, session or environment they have.
//   - Memory and processes are limited from then on, and CPU time from the moment when the program is loaded.
//   - A killed process leaves its cgroups behind. Sweep and the next Open recognize them by a lock that ended with
//     the process, kill the processes in them and remove them.
//
// # Not guaranteed
//
//   - A process of the tree that may write to cgroups, such as one of root, can leave its cgroup.
//   - Memory that was swapped out before a limit was set is not limited. Memory that belongs to no process, such
//     as pages of files, counts for the tree that used it first.
package cgroups
