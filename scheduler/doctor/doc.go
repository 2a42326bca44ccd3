// Package doctor finds what will harm the runs of a cluster.
//
// It decides from facts that others gathered. It reads nothing itself.
package doctor
