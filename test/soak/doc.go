// Package soak runs a cluster under load with random faults from a seed, for package history to judge.
//
// It passes only if every promise was kept, every fault took effect, and there was enough load to make this meaningful. The
// same seed makes the same faults in the same order. The state of the cluster at a fault still differs from run to run.
package soak
