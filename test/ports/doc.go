// Package ports hands out ports of loopback to the processes and servers of tests.
package ports
