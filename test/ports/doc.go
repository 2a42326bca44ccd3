// Package ports gives free loopback ports to tests.
package ports
