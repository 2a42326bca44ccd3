package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store"
)

// fillers is the number of concurrent writes of definitions; the store combines them into few transactions.
const fillers = 512

// fill writes definitions into the members' etcd while no node runs, and returns the time that it took.
func fill(ctx context.Context, list []member, n int, define func(i int) job.Job) (took time.Duration, err error) {
	servers, stop, err := etcds(ctx, list)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	s := store.New(store.Config{Prefix: "/rota", Process: "bench"}, servers[0].Client(), hclog.NewNullLogger())
	defer s.Close()
	began := time.Now()
	err = putJobs(ctx, s, n, define)
	return time.Since(began), err
}

// putJobs writes n definitions into a store.
func putJobs(ctx context.Context, s *store.Store, n int, define func(i int) job.Job) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var wg sync.WaitGroup
	for range fillers {
		wg.Go(func() {
			for i := range next {
				if _, err := s.PutJob(ctx, define(i)); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		next <- i
	}
	close(next)
	wg.Wait()
	return context.Cause(ctx)
}
