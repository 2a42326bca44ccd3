//go:build !race

package planner_test

// simulations is how many a normal test runs.
const simulations = 300
