package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler"
	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/handler"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/planner"
	"github.com/rota-scheduler/rota/scheduler/worker"
	"github.com/rota-scheduler/rota/store"
	"github.com/rota-scheduler/rota/store/mem"
)

// core measures what a run costs rota itself: leader, worker, mirror and journal of one replica, with a store in memory that
// answers at once. The cost of the store is shown by itself, so no layout of records in etcd can cost less than the rest.
type core struct {
	rate     int
	warm     time.Duration
	lasts    time.Duration
	keep     int
	capacity int
}

func coreCost() benchmark {
	var b core
	return benchmark{
		name: "core", usage: "the cost of a run by part, with a store in memory in the place of etcd",
		flags: func(f *flag.FlagSet) {
			f.IntVar(&b.rate, "rate", 5000, "runs per second that are due")
			f.DurationVar(&b.warm, "warm", 5*time.Second, "how long before that runs are due, too")
			f.DurationVar(&b.lasts, "for", 20*time.Second, "how long is measured")
			f.IntVar(&b.keep, "keep", 3, "runs of each job that are kept")
			f.IntVar(&b.capacity, "capacity", 10_000, "capacity of the worker")
		},
		run: b.run,
	}
}

func (b *core) run(ctx context.Context, o *options) (err error) {
	fmt.Printf("core: %d jobs every second\n", b.rate)
	start := time.Now().Add(10 * time.Second).Truncate(time.Second)
	end := start.Add((b.warm + b.lasts).Truncate(time.Second))
	define := func(i int) job.Job {
		return newJob(i, job.Spec{
			Every: job.Duration(time.Second), Start: &start, End: &end, Overlap: job.OverlapAllow, Jitter: job.Duration(time.Second),
		})
	}
	led, err := newLedger(b.rate, define)
	if err != nil {
		return err
	}
	led.from, led.to = start.Add(b.warm), end
	server := mem.New(mem.Config{})
	defer func() { err = errors.Join(err, server.Close()) }()
	r := &replica{client: server.Client(), log: hclog.NewNullLogger(), dir: o.dir}
	if o.verbose {
		r.log = hclog.Default()
	}
	r.store = store.New(store.Config{Prefix: "/rota", Process: "bench"}, r.client, r.log)
	defer r.store.Close()
	if err := putJobs(ctx, r.store, b.rate, define); err != nil {
		return err
	}
	stop, err := r.start(ctx, b, led.execute)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if late := time.Since(start); late > 0 {
		return fmt.Errorf("the replica was ready %v after the first slot", late)
	}
	// The measured window begins at a fixed time.
	time.Sleep(time.Until(led.from))
	if err := b.measure(o, led); err != nil {
		return err
	}
	if err := led.await(ctx, b.rate*int(end.Sub(start)/time.Second), time.Now().Add(2*time.Minute)); err != nil {
		return err
	}
	want, missing, repeated := led.check(start, end, time.Second)
	say("slots", "%d, missing %d, repeated %d", want, missing, repeated)
	if missing+repeated > 0 {
		return errors.New("slots are not accounted for")
	}
	return nil
}

// measure reports the costs between now and led.to.
func (b *core) measure(o *options, led *ledger) error {
	if o.profile == "" {
		o.profile = filepath.Join(o.dir, "cpu.pprof")
	}
	allocs, err := newAllocProfile(o.dir)
	if err != nil {
		return err
	}
	stop, err := o.profiled()
	if err != nil {
		return err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	used := usage()
	// The measured window ends at a fixed time.
	time.Sleep(time.Until(led.to))
	used = usage() - used
	runtime.ReadMemStats(&after)
	stop()
	if err := o.heapProfile(); err != nil {
		return err
	}
	runs := float64(led.begun.Load())
	say("runs begun", "%.0f /s of %d /s due", runs/b.lasts.Seconds(), b.rate)
	say("late", "%s", led.late.quantiles())
	say("per run", "%.1f us of processor, %.0f allocations, %.0f bytes", used.Seconds()*1e6/runs,
		float64(after.Mallocs-before.Mallocs)/runs, float64(after.TotalAlloc-before.TotalAlloc)/runs)
	times, err := shares(o.profile, "cpu", "")
	if err != nil {
		return err
	}
	objects, err := allocs.shares()
	if err != nil {
		return err
	}
	report(times, objects, used.Seconds()*1e6/runs, float64(after.Mallocs-before.Mallocs)/runs)
	return nil
}

// replica is everything that package node wires between the API and etcd.
type replica struct {
	client *clientv3.Client
	store  *store.Store
	log    hclog.Logger
	dir    string
}

// start starts the parts of the replica, which leads at once. stop ends them.
func (r *replica) start(ctx context.Context, b *core, execute handler.Func) (stop func() error, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	var journal *worker.Journal
	stop = func() error {
		cancel()
		wg.Wait()
		if journal == nil {
			return nil
		}
		return journal.Close()
	}
	mirror := store.NewMirror(r.store)
	sched := scheduler.New(planner.Config{
		ArmAhead: config.Dispatch{ArmAhead: 2 * time.Second}.Lead(), Retention: planner.Retention{Success: b.keep},
	}, r.store, mirror.Feed(), nil, time.Now, r.log)
	wg.Go(func() { _ = mirror.Follow(ctx) })
	wg.Go(func() { _ = sched.Run(ctx) })
	wg.Go(func() { r.compact(ctx) })
	if journal, err = worker.OpenJournal(filepath.Join(r.dir, "journal.db")); err != nil {
		return nil, errors.Join(err, stop())
	}
	exec := executor.NewSet(map[string]executor.Executor{
		"handler": handler.New(map[string]handler.Func{handlerName: execute}, time.Now),
	}, time.Now)
	w := worker.New(worker.Config{
		Name: "q1", Capacity: b.capacity, Handlers: []string{handlerName}, DataDir: r.dir,
		Known: func(name string, rev int64) (*job.Job, bool) {
			j, ok := mirror.Job(name)
			return j, ok && j.Rev >= rev
		},
		LeaderNow: func(int64) (time.Time, bool) { return time.Now(), true },
	}.Defaults(), r.store, sessions{r.store}, exec, journal, r.log)
	wg.Go(func() { _ = w.Run(ctx) })
	term, err := r.win(ctx)
	if err == nil {
		err = mirror.WaitFor(ctx, term.Won)
	}
	if err != nil {
		return nil, errors.Join(err, stop())
	}
	wg.Go(func() { _ = sched.Lead(ctx, term) })
	return stop, nil
}

// win makes the replica the leader. There is no other one.
func (r *replica) win(ctx context.Context) (election.Term, error) {
	key := r.store.Keys().Election() + "q1"
	resp, err := r.client.Put(ctx, key, "{}")
	if err != nil {
		return election.Term{}, err
	}
	return election.Term{Key: key, Rev: resp.Header.Revision, Won: resp.Header.Revision}, nil
}

// compact removes the past of the store, which is in memory.
func (r *replica) compact(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for last := int64(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if last > 0 {
			_, _ = r.client.Compact(ctx, last)
		}
		last = r.store.Reached()
	}
}

// sessions opens the worker's sessions, as package node does.
type sessions struct{ store *store.Store }

const sessionTTL = 5 * time.Second

func (s sessions) Open(ctx context.Context, w job.Worker) (worker.Session, error) {
	return s.store.PresentWorker(ctx, w, sessionTTL)
}

func (s sessions) Update(ctx context.Context, of worker.Session, w job.Worker) error {
	w.Session = of.ID()
	return of.(*store.Presence).Update(ctx, w)
}
