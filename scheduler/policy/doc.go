// Package policy is the arithmetic of the policies that a job names: what becomes of missed slots, of attempts that
// failed and of attempts whose worker was lost, how far apart attempts begin, and when a breaker is open. All of it is pure:
// time and chance are arguments.
package policy
