// Package workflow decides which steps follow which jobs.
//
// A job with parents is a step. A workflow is a set of jobs that are joined by steps: a directed graph without cycles.
// Graph answers questions about it, Check finds mistakes in it, and Decide says what becomes of a step once its parents have
// ended. Nothing here knows the store or a clock.
package workflow
