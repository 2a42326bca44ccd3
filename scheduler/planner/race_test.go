//go:build race

package planner_test

// simulations is how many a normal test runs: the race detector makes them ten times slower.
const simulations = 60
