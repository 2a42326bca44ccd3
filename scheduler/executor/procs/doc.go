// Package procs finds and ends processes by the mark that they carry in their environment.
//
// An attempt's processes get ROTA_MARK=<session>.<n>, where session is unique to one life of one worker. Children
// inherit it, also those that leave the process group (setsid, double fork), so that it finds what a process group
// does not.
//
// It finds marks on Linux only, by /proc. It does not find a process that has both left its group and replaced or
// overwritten its environment (env -i, sudo, some servers that set their title), nor one whose environment the worker
// may not read. On other systems it finds nothing, and process groups are all there is.
package procs
