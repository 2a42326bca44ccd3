// Package cluster runs real replicas of rota as processes on this machine, harms them with real signals, and records what
// they do for package history.
//
// Everything that it starts has ended and every port is free when the test has ended, also if it failed. A failed test
// prints the last lines that each process wrote.
package cluster
