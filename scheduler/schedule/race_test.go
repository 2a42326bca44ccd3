//go:build race

package schedule_test

// sampled makes the exhaustive tests use a sample. The race detector makes arithmetic ten times slower and finds no races in
// it.
const sampled = true
