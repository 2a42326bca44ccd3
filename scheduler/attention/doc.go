// Package attention finds the jobs that an operator should look at.
//
// Other packages add findings about replicas or the store to its list.
//
// It has no clock and no store. For each finding it names the next command.
package attention
