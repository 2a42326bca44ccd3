package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// The measurement of etcd's own limit. Of the numbers that were tried, these give the highest rate of puts, through the
// in-process client and with values as large as rota's.
const (
	limitWriters = 8
	limitBatch   = 100
	limitValue   = 400
)

// etcdLimit returns how many puts per second etcd accepts with the same members and disk, and the processor time of each.
func (o *options) etcdLimit(ctx context.Context) (rate float64, cost time.Duration, err error) {
	if o.limit == 0 {
		return 0, 0, nil
	}
	list, err := members(filepath.Join(o.dir, "limit"), o.members)
	if err != nil {
		return 0, 0, err
	}
	servers, stop, err := etcds(ctx, list)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, stop()) }()

	value := strings.Repeat("x", limitValue)
	var puts atomic.Int64
	var failed atomic.Pointer[error]
	ctx, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	began, used := time.Now(), usage()
	var wg sync.WaitGroup
	for w := range limitWriters {
		wg.Go(func() {
			kv := servers[w%len(servers)].Client()
			for i := 0; ctx.Err() == nil; i++ {
				ops := make([]clientv3.Op, limitBatch)
				for k := range ops {
					ops[k] = clientv3.OpPut(fmt.Sprintf("limit/%d/%06d/%03d", w, i, k), value)
				}
				if _, err := kv.Txn(ctx).Then(ops...).Commit(); err == nil {
					puts.Add(limitBatch)
				} else if ctx.Err() == nil {
					failed.Store(&err)
					return
				}
			}
		})
	}
	wg.Wait()
	if p := failed.Load(); p != nil {
		return 0, 0, *p
	}
	n := float64(puts.Load())
	return n / time.Since(began).Seconds(), time.Duration(float64(usage()-used) / n), nil
}
