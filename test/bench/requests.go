package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor/handler"
)

// requested is the benchmark of Go's HTTP client alone: many requests at one instant. A scheduler that sends the same from this
// process, on connections that it opens ahead, lies between new connections and those of the round before.
type requested struct {
	at     int
	rounds int
	keep   bool
}

func requests() benchmark {
	var b requested
	return benchmark{
		name: "requests", usage: "requests at one instant from Go's HTTP client alone, for comparison with throughput -aligned -http",
		flags: func(f *flag.FlagSet) {
			f.IntVar(&b.at, "at", 1000, "requests at one instant")
			f.IntVar(&b.rounds, "rounds", 20, "how many instants, a second apart")
			f.BoolVar(&b.keep, "keep", false, "send on the connections of the round before; the first round does not count")
		},
		run: b.run,
	}
}

func (b *requested) run(ctx context.Context, o *options) (err error) {
	fmt.Printf("requests: %d at one instant, %d clients\n", b.at, o.members)
	var late latencies
	var skip atomic.Bool
	to, err := newTarget(ctx, func(_ context.Context, t handler.Task) error {
		if at := time.Since(t.Slot); !skip.Load() {
			late.add(at)
		}
		return nil
	})
	if err != nil {
		return err
	}
	defer func() { _ = to.close() }()
	idle := 500 * time.Millisecond
	if b.keep {
		idle = time.Minute
	}
	clients := make([]*http.Client, o.members)
	for i := range clients {
		clients[i] = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: b.at, IdleConnTimeout: idle}}
	}
	used := usage()
	failed := make(chan error, b.at)
	for round := range b.rounds {
		skip.Store(b.keep && round == 0)
		var due time.Time
		var wg sync.WaitGroup
		start := make(chan struct{})
		for i := range b.at {
			wg.Go(func() {
				<-start
				if err := to.request(ctx, clients[i%len(clients)], due); err != nil {
					failed <- err
				}
			})
		}
		// The goroutines are ready, and the connections of the last round are closed, unless they are kept.
		time.Sleep(time.Second)
		due = time.Now().Round(0)
		close(start)
		wg.Wait()
		if len(failed) > 0 {
			return <-failed
		}
	}
	say("late", "%s", late.quantiles())
	say("per request", "%.1f us of processor", (usage()-used).Seconds()*1e6/float64(b.at*b.rounds))
	return nil
}
