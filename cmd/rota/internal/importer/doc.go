// Package importer translates the schedules of other tools into job files.
//
// A Result has the jobs. It also has a Problem, with its place, for everything that a job file cannot express. Nothing is dropped
// silently. If there is no Problem, the imported jobs run at the same instants and do the same work as before.
package importer
