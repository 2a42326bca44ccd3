//go:build race

package schedule_test

// sampled makes the exhaustive tests take a sample: the race detector slows pure arithmetic down by ten, and finds
// nothing in it.
const sampled = true
