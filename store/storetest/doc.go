// Package storetest is the suite that any etcd under rota must pass, real or
// in memory, and the proof that the one in memory is like the real one: the
// same random operations on both give the same answers.
package storetest
