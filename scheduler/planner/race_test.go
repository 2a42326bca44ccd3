//go:build race

package planner_test

// simulations is the number of simulations of a normal test. The race detector makes them ten times slower.
const simulations = 60
