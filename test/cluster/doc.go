// Package cluster runs real replicas of rota as processes on this machine, to test them under real signals.
//
// It records what they do for package history. When the test has ended, even if it failed, all its processes have ended and
// every port is free. A failed test prints the last lines of each process's log.
package cluster
