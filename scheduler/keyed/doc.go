// Package keyed holds a heap of values by int64 keys.
//
// The keys lie beside each other in memory. So an operation on a long heap reads few values, and calls no method of them.
package keyed
