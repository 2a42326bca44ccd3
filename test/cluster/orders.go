package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
)

// The jobs for Cluster.Clients: neither has a schedule, and the runs of the first may overlap.
const (
	ClientsSubmit = "order" // for calls that submit, read, cancel and retry
	ClientsPause  = "gate"  // for calls that pause and resume
)

// clientsDefine is the job that clients define, change, pause and remove. It has no schedule, and is not in the job files.
const clientsDefine = "shape"

// Clients makes some clients, spread over the replicas, send the same requests at the same time, and records the answers, until
// the returned function is called.
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

// orders is the state that concurrent clients share.
type orders struct {
	began time.Time

	mu   sync.Mutex
	runs []string // guarded by mu: runs in the answers, the latest last
	rev  int64    // guarded by mu: revision of the definition in the last answer
}

// run sends one request after the other until ctx ends. A request that is under way then is abandoned.
func (o *orders) run(ctx context.Context, client *history.Client, chance *rand.Rand) {
	for n := 0; ctx.Err() == nil; n++ {
		asking, cancel := context.WithTimeout(ctx, 2*time.Second)
		switch what, run := chance.IntN(14), o.some(chance); {
		case what < 3 || run == "":
			// All clients use the same key at about the same time. The first call creates the run, and the others find it.
			key := fmt.Sprint("order-", int(time.Since(o.began)/(300*time.Millisecond)))
			if v, _, err := client.Submit(asking, ClientsSubmit, api.RunRequest{Key: key}); err == nil {
				o.add(v.Ref)
			}
		case what < 7:
			_, _ = client.Run(asking, run) // the client records the answer, here and below
		case what < 8:
			_, _ = client.Cancel(asking, run, "for once")
		case what < 9:
			_, _ = client.PauseJob(asking, ClientsPause, fmt.Sprint("pause ", chance.Uint64()))
		case what < 10:
			_, _ = client.ResumeJob(asking, ClientsPause, "")
		case what < 11:
			o.retry(asking, client, run, chance)
		default:
			o.define(asking, client, chance)
		}
		cancel()
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(20+chance.IntN(60)) * time.Millisecond):
		}
	}
}

// retry repeats a run, half of the time with a key that all clients share. The run that a key makes is one of the latest runs from
// then on.
func (o *orders) retry(ctx context.Context, client *history.Client, run string, chance *rand.Rand) {
	key := ""
	if chance.IntN(2) == 0 {
		key = "again-" + run
	}
	if v, _, err := client.RetryOnce(ctx, run, key); err == nil && key != "" {
		o.add(v.Ref)
	}
}

// define changes the clients' definition in one of several ways. Other clients may use the revision of its answer in their
// preconditions, also when it is already outdated.
func (o *orders) define(ctx context.Context, client *history.Client, chance *rand.Rand) {
	o.mu.Lock()
	rev := o.rev
	o.mu.Unlock()
	spec := job.Spec{Command: []string{"true"}, Description: fmt.Sprint("as of ", chance.Uint64())}
	var v api.JobView
	var err error
	switch way := chance.IntN(10); {
	case way < 2 && rev > 0:
		v, _, err = client.PutJob(ctx, clientsDefine, spec, api.Precondition{Revision: rev})
	case way < 4:
		v, _, err = client.PutJob(ctx, clientsDefine, spec, api.Precondition{Absent: true})
	case way < 5:
		v, _, err = client.PutJob(ctx, clientsDefine, spec, api.Precondition{})
	case way < 6:
		v, err = client.PauseJob(ctx, clientsDefine, spec.Description)
	case way < 7:
		v, err = client.ResumeJob(ctx, clientsDefine, "")
	default:
		var pre api.Precondition
		if chance.IntN(2) == 0 {
			pre.Revision = rev
		}
		err = client.DeleteJob(ctx, clientsDefine, pre)
	}
	if err == nil && v.Revision > 0 {
		o.mu.Lock()
		o.rev = v.Revision
		o.mu.Unlock()
	}
}

func (o *orders) add(run string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.runs = append(o.runs, run)
}

// some returns one of the latest runs, empty if there is none.
func (o *orders) some(chance *rand.Rand) string {
	const latest = 6
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.runs) == 0 {
		return ""
	}
	return o.runs[len(o.runs)-1-chance.IntN(min(len(o.runs), latest))]
}
