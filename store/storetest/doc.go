// Package storetest is the test suite for any etcd that rota uses, real or in
// memory.
//
// It also tests that package mem is like the real etcd: the same random
// operations on both must give the same answers.
package storetest
