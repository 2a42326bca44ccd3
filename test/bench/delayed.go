package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store"
)

// postponed is the benchmark of delayed submissions.
type postponed struct {
	runs     int
	spread   time.Duration
	embedded bool
}

func delayed() benchmark {
	var b postponed
	return benchmark{
		name: "delayed", usage: "memory of a leader and a standby, each a process, while very many delayed runs wait",
		flags: func(f *flag.FlagSet) {
			f.IntVar(&b.runs, "runs", 1_000_000, "delayed runs")
			f.DurationVar(&b.spread, "spread", 24*time.Hour, "they come due within this time")
			f.BoolVar(&b.embedded, "embedded", false, "one replica with an embedded etcd, in place of two with an external one")
		},
		run: b.run,
	}
}

func (b *postponed) run(ctx context.Context, o *options) (err error) {
	fmt.Printf("delayed: %d runs within %v, etcd embedded: %v\n", b.runs, b.spread, b.embedded)
	list, err := members(o.dir, 3)
	if err != nil {
		return err
	}
	etcd, endpoints := list[0].client, ""
	if !b.embedded {
		etcd = list[2].client
		_, stop, err := etcds(ctx, list[2:])
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stop()) }()
		endpoints = "http://" + etcd
	}
	first, second := b.replica(list[0], endpoints), b.replica(list[1], endpoints)
	leader, err := first.spawn(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leader.stop()) }()
	if err := leader.await(ctx, "/leader"); err != nil {
		return err
	}
	var standby *process
	if !b.embedded {
		if standby, err = second.spawn(ctx, o); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, standby.stop()) }()
		if err := standby.await(ctx, "/readyz"); err != nil {
			return err
		}
	}
	began := time.Now()
	if err := b.submit(ctx, "http://"+etcd); err != nil {
		return err
	}
	say("submitted", "%.0f runs/s", float64(b.runs)/time.Since(began).Seconds())
	b.report("after the submissions", leader, standby)
	b.rest(leader, standby)
	if err := b.read(ctx, leader); err != nil {
		return err
	}
	b.report("after lists and pages", leader, standby)
	if b.embedded {
		return b.count(ctx, leader)
	}
	if err = leader.stop(); err != nil {
		return err
	}
	leader = nil
	began = time.Now()
	if err := standby.await(ctx, "/leader"); err != nil {
		return err
	}
	say("takeover", "%.1f s after the leader stopped", time.Since(began).Seconds())
	began = time.Now()
	if leader, err = first.spawn(ctx, o); err != nil {
		return err
	}
	if err := leader.await(ctx, "/readyz"); err != nil {
		return err
	}
	say("cold start", "ready after %.1f s", time.Since(began).Seconds())
	b.report("after the cold start", standby, leader)
	b.rest(standby, leader)
	return errors.Join(b.count(ctx, standby), b.count(ctx, leader))
}

// replica returns a replica that uses the etcd at endpoints; "": its own.
func (b *postponed) replica(m member, endpoints string) single {
	// The count at the end includes every run.
	environ := m.environ([]member{m}, nodeConfig{capacity: 64, success: b.runs})
	if endpoints != "" {
		embedded := func(v string) bool { return strings.HasPrefix(v, "ROTA_ETCD_EMBEDDED_") }
		environ = append(slices.DeleteFunc(environ, embedded), "ROTA_ETCD_ENDPOINTS="+endpoints)
	}
	return single{m, environ}
}

// report prints the memory of both. standby is nil if there is none.
func (b *postponed) report(when string, leader, standby *process) {
	leader.report("leader " + when)
	if standby != nil {
		standby.report("standby " + when)
	}
}

// rest prints the memory of both at rest.
func (b *postponed) rest(leader, standby *process) {
	// The time after which a process returns memory is fixed, see node.SpareMemory.
	time.Sleep(20 * time.Second)
	b.report("at rest", leader, standby)
}

// submit writes the runs.
func (b *postponed) submit(ctx context.Context, etcd string) error {
	conn, err := clientv3.New(clientv3.Config{Endpoints: []string{etcd}, DialTimeout: 5 * time.Second})
	if err != nil {
		return err
	}
	defer conn.Close()
	s := store.New(store.Config{Prefix: "/rota", Process: "bench"}, conn, hclog.NewNullLogger())
	defer s.Close()
	if _, err := s.PutJob(ctx, newJob(0, job.Spec{Overlap: job.OverlapAllow}.WithDefaults())); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for from := range next {
				if err := b.put(ctx, conn, from, min(from+perRequest, b.runs)); err != nil {
					cancel(err)
				}
			}
		})
	}
	for from := 0; from < b.runs && ctx.Err() == nil; from += perRequest {
		next <- from
	}
	close(next)
	wg.Wait()
	return context.Cause(ctx)
}

// perRequest is how many runs one request to etcd writes.
const perRequest = 100

// put writes some of the runs, without the checks of the API: a job's submissions through it are slower.
func (b *postponed) put(ctx context.Context, conn *clientv3.Client, from, to int) error {
	var puts []clientv3.Op
	for i := from; i < to; i++ {
		now := time.Now().UTC()
		r := job.Run{
			Job: jobPrefix + "0", ID: fmt.Sprintf("key-%020x", i), Kind: job.KindDelayed, Slot: now, Due: now.Add(rand.N(b.spread)),
			State: job.Pending, Reason: job.ReasonNotYet, Key: fmt.Sprintf("order-%d", i), By: "shop", Created: now, Generation: 1,
			Op: fmt.Sprintf("0123456789abcdef-%d", i),
		}
		value, err := json.Marshal(&r)
		if err != nil {
			return err
		}
		puts = append(puts, clientv3.OpPut("/rota/runs/"+r.Name(), string(value)))
	}
	for {
		_, err := conn.Txn(ctx).Then(puts...).Commit()
		if err == nil || !wait(ctx, time.Second) { // on a busy machine, etcd may be too slow for a request
			return err
		}
	}
}

// read asks a replica what people and programs ask.
func (b *postponed) read(ctx context.Context, p *process) error {
	for _, path := range []string{
		"/", "/jobs", "/jobs/" + jobPrefix + "0", "/v1/cluster", "/v1/runs", "/v1/runs?state=pending&limit=1000", "/v1/workers",
		"/v1/overview", "/v1/timeline", "/metrics",
	} {
		began := time.Now()
		if err := p.await(ctx, path); err != nil {
			return err
		}
		say("GET "+path, "%s", ms(time.Since(began)))
	}
	return nil
}

// count compares the number of runs that a replica knows with those that were submitted.
func (b *postponed) count(ctx context.Context, p *process) error {
	c, err := client.New(client.Config{Servers: "http://" + p.http, By: "bench"})
	if err != nil {
		return err
	}
	v, err := c.Cluster(ctx)
	if err != nil {
		return err
	}
	r := v.Runs
	known := r.Scheduled + r.Waiting + r.Armed + r.Running + r.Retrying
	for _, n := range r.Day {
		known += n
	}
	if known != b.runs {
		return fmt.Errorf("replica %s knows %d runs, and %d were submitted", p.name, known, b.runs)
	}
	say("runs", "%d wait for their time, %d have ended", r.Scheduled, r.Day[job.Succeeded])
	return nil
}
