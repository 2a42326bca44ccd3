// Package clocks compares this process's clock with those of the replicas.
package clocks
