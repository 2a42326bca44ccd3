// Package metrics serves the metrics of a process at /metrics.
//
// docs/reference/metrics.md lists the names.
package metrics
