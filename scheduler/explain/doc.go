// Package explain says in words what became, or will become, of a slot.
//
// It judges by what is in the store when it is asked. What history no longer holds it does not guess: then it says so.
package explain
