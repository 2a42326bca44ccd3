// Package explain says in words what became, or will become, of a slot.
//
// It judges by the store's present content. If history no longer has what it needs, it says so instead of guessing.
package explain
