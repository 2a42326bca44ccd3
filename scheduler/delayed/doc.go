// Package delayed holds delayed runs of one job in the order of their times.
package delayed
