// Package explain says why a slot ran, ran late, or did not run.
//
// It says whether the slot ran or will run, and why. It uses the present content of the store. If a record that it needs has
// left history, it says so and does not guess.
package explain
