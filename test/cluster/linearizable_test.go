package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
)

// TestCallsAreLinearizable has clients of each replica submit the same things, look at them, cancel them and pause a job,
// while the leader is killed and a follower is paused: what they are told is as if one after the other had been served,
// whatever was accepted has one run, and nothing else has.
func TestCallsAreLinearizable(t *testing.T) {
	row(t)
	t.Parallel()
	sink := NewSink(t)
	sink.Delay(150 * time.Millisecond)
	post := &job.HTTP{URL: sink.URL(), Method: "POST"}
	c := Start(t, Config{Binary: binary, Jobs: map[string]job.Spec{
		"order": {HTTP: post, Overlap: job.OverlapAllow}, "gate": {HTTP: post},
		"tick": {HTTP: post, Every: job.Duration(time.Second), Missed: job.MissedAll},
	}})
	rng := seeded(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var wg sync.WaitGroup
	asked := &orders{began: time.Now()}
	for i := range 6 {
		chance := rand.New(rand.NewPCG(rng.Uint64(), 0))
		client := c.Replicas()[i%3].Record()
		wg.Go(func() { asked.run(ctx, client, chance) })
	}

	Let(3 * time.Second)
	killed := c.Leader()
	killed.Kill()
	if next := c.Leader(); next == killed {
		t.Errorf("%s leads again: the fault did not bite", killed.Name)
	}
	Let(3 * time.Second)
	killed.Start()
	c.WaitReady()

	// It is back and leads nothing, not even etcd: a member that does, and is paused for so long, takes everybody's leases.
	follower := killed
	if c.Leader() == follower {
		t.Errorf("%s leads again, though nothing happened to the one after it", follower.Name)
	}
	before := open(c)
	follower.Stop()
	Let(electionTTL + 3*time.Second)
	follower.Cont()
	c.WaitReady()
	Let(3 * time.Second)
	stop()
	wg.Wait()
	if after := open(c); after <= before {
		t.Errorf("%d calls were not answered before a replica was paused, and %d after: the fault did not bite", before, after)
	}
	counts := make(map[string]int)
	for _, call := range c.Calls.All() {
		counts[fmt.Sprintf("%s %s", call.Kind, call.Answer)]++
	}
	t.Logf("calls: %v", counts)
	for _, must := range []string{"submit done", "run done", "cancel done", "cancel ended", "pause done", "resume done"} {
		if counts[must] < 5 {
			t.Errorf("%d calls of %q: there is no load", counts[must], must)
		}
	}
	c.Recovery = 2 * electionTTL
	c.Check(sink.Requests, nil, func(j *history.Job) { j.Tolerance = electionTTL })
}

// open counts the calls that were not answered, or not in a way that says what was done.
func open(c *Cluster) (n int) {
	for _, call := range c.Calls.All() {
		if call.Answer == history.Open {
			n++
		}
	}
	return n
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
			if v, _, err := client.Submit(asking, "order", api.RunRequest{Key: key}); err == nil {
				o.add(v.Ref)
			}
		case what < 7:
			_, _ = client.Run(asking, run) // what came back is recorded, here and below
		case what < 8:
			_, _ = client.Cancel(asking, run, "for once")
		case what < 9:
			_, _ = client.PauseJob(asking, "gate", fmt.Sprint("pause ", chance.Uint64()))
		default:
			_, _ = client.ResumeJob(asking, "gate", "")
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
