// Package activity summarizes the runs of all jobs for the page.
//
// It follows the changes of a mirror, so that a question about all jobs needs no walk over all runs. Its counts of ended runs
// cover the runs that the store has when the process starts, and all later ones. It keeps nothing of a job without runs and without
// a cursor, because a million jobs may have none.
package activity
