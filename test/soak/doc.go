// Package soak harms a cluster under load, at random but from a seed, for as long as it is told to, and has package history
// judge what happened.
//
// It passes only if every promise was kept, every fault bit, and there was enough load for both to mean something. The same
// seed makes the same faults in the same order; when exactly they fall within what the cluster does is up to the machine.
package soak
