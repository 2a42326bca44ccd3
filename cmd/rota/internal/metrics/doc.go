// Package metrics is what a process shows at /metrics.
//
// docs/reference/metrics.md lists the names.
package metrics
