// Package procs ends processes that carry a mark in their environment.
//
// The processes of an attempt get ROTA_MARK=<life>.<n>, where life is unique to one life of one worker. Children inherit it,
// including those that leave the process group (setsid, double fork). So a mark finds processes that a process group does not.
//
// Marks are found on Linux only, in /proc. A process is not found if the worker may not read its environment. It is not found
// either if it has left its group and has replaced or overwritten its environment. Examples are env -i, sudo, and servers that
// set their title. While a process waits in mmap for a file server that is gone, nobody can read its environment: it is left out,
// and reported if it may carry the mark. On other systems no process is found, and only process groups are left.
package procs
