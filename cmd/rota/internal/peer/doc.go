// Package peer calls the APIs of the other processes of a cluster.
package peer
