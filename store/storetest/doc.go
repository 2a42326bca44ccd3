// Package storetest is the test suite for any etcd that rota uses, real or in memory.
//
// It also proves that package mem is like the real etcd: the same random
// operations on both give the same answers.
package storetest
