// Package policy computes the decisions of a job's policies.
//
// Missed decides about missed slots, DecideRetry about retries, Breaker about a circuit breaker, and Pace keeps attempts apart.
// When and SlotsAfter read the schedule. All functions are pure: the time and random numbers are arguments.
//
// DecideRetry is the only place where rota decides about a retry: the worker calls it when an attempt ends (report.go), and the
// planner when it gives an attempt up (lost.go).
package policy
