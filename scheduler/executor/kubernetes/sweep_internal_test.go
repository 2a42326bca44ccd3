package kubernetes

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// crowded is an API with so many running Jobs that their list has three pages.
type crowded struct{ lists, others *atomic.Int64 }

func (c crowded) Call(_ context.Context, method, path string, _, out any) error {
	list, ok := out.(*jobList)
	if method != "GET" || !ok {
		c.others.Add(1)
		return nil
	}
	c.lists.Add(1)
	page := strings.Count(path, "continue=")
	if strings.Contains(path, "continue=second") {
		page++
	}
	list.Items = make([]batchJob, jobsPage)
	list.Metadata.Continue = []string{"first", "second", ""}[page]
	return nil
}

func (c crowded) Stream(context.Context, string) (io.ReadCloser, error) {
	return nil, errors.New("no stream")
}

// TestTheCostOfSweepsDoesNotGrowWithTheWorkers counts the requests of an hour, after the workers have started at one time. There are
// 600 running Jobs.
func TestTheCostOfSweepsDoesNotGrowWithTheWorkers(t *testing.T) {
	for _, workers := range []int{1, 10, 100} {
		synctest.Test(t, func(t *testing.T) {
			api := crowded{new(atomic.Int64), new(atomic.Int64)}
			var reads, counts atomic.Int64
			ctx, end := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			for range workers {
				e := New(Config{API: api, Namespaces: []string{"jobs"}}, time.Now)
				wg.Go(func() {
					_ = e.Sweep(ctx, func(context.Context, string, string) (job.Run, error) {
						reads.Add(1)
						return job.Run{State: job.Running}, nil
					}, func(context.Context) (int, error) { counts.Add(1); return workers, nil }, hclog.NewNullLogger())
				})
			}
			time.Sleep(time.Hour)
			end()
			wg.Wait()
			sweeps := float64(reads.Load()) / 600
			t.Logf("%d workers: in an hour %.0f sweeps, %d lists of Jobs, %d reads of runs, %d counts of workers",
				workers, sweeps, api.lists.Load(), reads.Load(), counts.Load())
			if sweeps < 40 || sweeps > 90 {
				t.Errorf("%d workers: %.0f sweeps in an hour, want about 60", workers, sweeps)
			}
			if lists := float64(api.lists.Load()); lists != 3*sweeps || api.others.Load() != 0 {
				t.Errorf("%d workers: %.0f lists and %d other requests for %.0f sweeps", workers, lists, api.others.Load(), sweeps)
			}
		})
	}
}

func TestTheOnlyWorkerSweepsAtItsStart(t *testing.T) {
	if wait := firstTurn(1, 1); wait != 0 {
		t.Errorf("the only worker waits for %v", wait)
	}
	if wait := nextTurn(1, 1); wait > 75*time.Second+time.Millisecond {
		t.Errorf("the only worker waits for %v between two sweeps", wait)
	}
}
