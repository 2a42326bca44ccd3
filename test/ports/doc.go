// Package ports gives free loopback ports to the processes and servers of tests.
package ports
