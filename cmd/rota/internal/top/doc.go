// Package top shows the state of a cluster on a terminal as it changes.
//
// A Source reads the cluster into snapshots. State is the model: its method Update is a pure function of a message, and returns
// what is to be done as an Effect. Run connects both to the terminal.
package top
