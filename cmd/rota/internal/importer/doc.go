// Package importer translates the schedules of other tools into job files.
//
// A Result has the jobs and, for everything that a job file cannot say, a Problem with its place. Nothing is dropped silently: a
// caller that gets no Problem has jobs that run at the same instants and do the same.
package importer
