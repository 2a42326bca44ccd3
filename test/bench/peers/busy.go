package main

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// load says how jobs are created.
type load struct {
	creators int                                    // goroutines that create jobs
	backlog  int64                                  // jobs that wait, at most; each creator may exceed it by one call
	create   func(ctx context.Context) (int, error) // creates some jobs, and returns how many
}

// keepBusy creates jobs so that some always wait, and sets the rate of f to how many end per second. ended counts the ends. Before
// it returns, all created jobs have ended.
func keepBusy(ctx context.Context, o options, ended *atomic.Int64, f *figure, l load) error {
	making, stop := context.WithCancelCause(ctx)
	var created atomic.Int64
	var wg sync.WaitGroup
	for range l.creators {
		wg.Go(func() {
			for making.Err() == nil {
				if created.Load()-ended.Load() > l.backlog {
					time.Sleep(time.Millisecond)
					continue
				}
				n, err := l.create(ctx)
				if err != nil {
					stop(err)
				}
				created.Add(int64(n))
			}
		})
	}
	rest(making, o.warm)
	first, began := ended.Load(), time.Now()
	rest(making, o.lasts)
	f.rate = float64(ended.Load()-first) / time.Since(began).Seconds()
	stop(nil)
	wg.Wait()
	if err := context.Cause(making); !errors.Is(err, context.Canceled) {
		return err
	}
	return await(ctx, func() error {
		if ended.Load() < created.Load() {
			return errors.New("some jobs have not ended")
		}
		return nil
	})
}

// rest waits for d, or until ctx ends.
func rest(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// moduleVersion returns the version of a module in this program.
func moduleVersion(path string) string {
	info, _ := debug.ReadBuildInfo()
	for _, m := range info.Deps {
		if m.Path == path {
			return m.Version
		}
	}
	return "of an unknown version"
}
