// Package output keeps the output of attempts. The first bytes, up to a cap, are in a file on the worker. The last bytes, the
// tail, are in memory.
//
// Writing never fails and never decides an outcome. If the disk is full or does not answer, or the directory cannot be written
// to, the output goes only to the tail, which says so. A sweep never removes a file that is being written. Files are not
// synced: if the machine loses power, the latest output may be lost.
package output
