// Package output keeps what attempts print: all of it, up to a cap, in a file on the worker, with its tail in memory.
//
// Writing never fails and never decides an outcome. If the disk is full or does not answer, or the directory cannot be
// written to, the tail goes on and says so. A file that is being written is never swept. Files are not synced: a machine
// that loses power may lose the latest output.
package output
