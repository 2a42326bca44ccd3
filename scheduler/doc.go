// Package scheduler is the leader's loop: it feeds the planner what the store tells, and commits what the planner decides.
package scheduler
