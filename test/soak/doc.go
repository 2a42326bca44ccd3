// Package soak runs a cluster under load with random faults of a seed, for package history to judge.
//
// It passes only if every promise was kept, every fault took effect, and there was enough load for both to be meaningful. The
// same seed makes the same faults in the same order. The machine decides what the cluster does at that instant.
package soak
