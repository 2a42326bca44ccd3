// Package policy is the arithmetic of the policies that a job names: what becomes of missed slots, of attempts that
// failed, and of attempts whose worker was lost. All of it is pure: time and chance are arguments.
package policy
