//go:build !race

package planner_test

// simulations is the number of simulations of a normal test.
const simulations = 300
