package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor/handler"
)

// requested is the benchmark of Go's HTTP client alone: many requests at one instant, each on a new connection, as those of jobs
// that are due each second. A scheduler that sends the same from this process cannot be faster.
type requested struct {
	at     int
	rounds int
}

func requests() benchmark {
	var b requested
	return benchmark{
		name: "requests", usage: "requests at one instant from Go's HTTP client alone, for comparison with throughput -aligned -http",
		flags: func(f *flag.FlagSet) {
			f.IntVar(&b.at, "at", 1000, "requests at one instant")
			f.IntVar(&b.rounds, "rounds", 20, "how many instants, a second apart")
		},
		run: b.run,
	}
}

func (b *requested) run(ctx context.Context, o *options) (err error) {
	fmt.Printf("requests: %d at one instant, %d clients\n", b.at, o.members)
	var late latencies
	to, err := newTarget(ctx, func(_ context.Context, t handler.Task) error { late.add(time.Since(t.Slot)); return nil })
	if err != nil {
		return err
	}
	defer func() { _ = to.close() }()
	clients := make([]*http.Client, o.members)
	for i := range clients {
		clients[i] = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: b.at, IdleConnTimeout: 500 * time.Millisecond}}
	}
	used := usage()
	failed := make(chan error, b.at)
	for range b.rounds {
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
		// The goroutines are ready, and the connections of the last round are closed.
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
