package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/test/history"
)

// The jobs that Cluster.Clients wants: neither has a schedule, and the runs of the first may overlap.
const (
	ClientsSubmit = "order" // is submitted, looked at and canceled
	ClientsPause  = "gate"  // is paused and resumed
)

// Clients has some clients, spread over the replicas, ask for the same things at the same time, and records what they are told,
// until the returned function is called.
func (c *Cluster) Clients(n int, rng *rand.Rand) (stop func()) {
	ctx, cancel := context.WithCancel(c.t.Context())
	var wg sync.WaitGroup
	asked := &orders{began: time.Now()}
	for i := range n {
		chance := rand.New(rand.NewPCG(rng.Uint64(), 0))
		client := c.replicas[i%len(c.replicas)].Record()
		wg.Go(func() { asked.run(ctx, client, chance) })
	}
	return func() {
		cancel()
		wg.Wait()
	}
}

// orders is what clients do at the same time to the same things.
type orders struct {
	began time.Time

	mu   sync.Mutex
	runs []string // guarded by mu: that clients were told of, the latest last
}

// run asks one thing after the other until ctx ends. What is under way then is given up.
func (o *orders) run(ctx context.Context, client *history.Client, chance *rand.Rand) {
	for n := 0; ctx.Err() == nil; n++ {
		asking, cancel := context.WithTimeout(ctx, 2*time.Second)
		switch what, run := chance.IntN(10), o.some(chance); {
		case what < 3 || run == "":
			// The same key as others have about now: one call makes the run, and the others find it.
			key := fmt.Sprint("order-", int(time.Since(o.began)/(300*time.Millisecond)))
			if v, _, err := client.Submit(asking, ClientsSubmit, api.RunRequest{Key: key}); err == nil {
				o.add(v.Ref)
			}
		case what < 7:
			_, _ = client.Run(asking, run) // what came back is recorded, here and below
		case what < 8:
			_, _ = client.Cancel(asking, run, "for once")
		case what < 9:
			_, _ = client.PauseJob(asking, ClientsPause, fmt.Sprint("pause ", chance.Uint64()))
		default:
			_, _ = client.ResumeJob(asking, ClientsPause, "")
		}
		cancel()
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(20+chance.IntN(60)) * time.Millisecond):
		}
	}
}

func (o *orders) add(run string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.runs = append(o.runs, run)
}

// some is one of the latest runs, empty if there is none.
func (o *orders) some(chance *rand.Rand) string {
	const latest = 6
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.runs) == 0 {
		return ""
	}
	return o.runs[len(o.runs)-1-chance.IntN(min(len(o.runs), latest))]
}
