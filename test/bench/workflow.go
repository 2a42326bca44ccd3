package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// flow is the workflow benchmark: workflows that are all due at one instant, compared with as many single runs as they have steps.
type flow struct {
	workflows, steps, capacity int
	fan                        bool
}

// bill is what a number of runs took, from before they were armed until the last outcome was in the store.
type bill struct {
	store     counters
	processor time.Duration
	settled   time.Duration // after they were due
}

func workflow() benchmark {
	var b flow
	return benchmark{
		name: "workflow", usage: "workflows due at one instant, and as many single runs: what each run costs, and when all are settled",
		flags: func(f *flag.FlagSet) {
			f.IntVar(&b.workflows, "workflows", 10_000, "workflows that are due")
			f.IntVar(&b.steps, "steps", 5, "jobs of each workflow, its root included")
			f.IntVar(&b.capacity, "capacity", 10_000, "worker.capacity")
			f.BoolVar(&b.fan, "fan", false, "all steps follow the root; by default each step follows the one before it")
		},
		run: b.run,
	}
}

func (b *flow) run(ctx context.Context, o *options) error {
	n := b.workflows * b.steps
	fmt.Printf("workflow: %d workflows of %d jobs, then %d single jobs, due at one instant, %d members\n",
		b.workflows, b.steps, n, o.members)
	steps, err := b.measure(ctx, o, "workflows", b.define)
	if err != nil {
		return err
	}
	single, err := b.measure(ctx, o, "single", newAt)
	if err != nil {
		return err
	}
	ratio := func(what string, steps, single float64) { say(what, "%.2f times that of single runs", steps/single) }
	ratio("transactions", steps.store.transactions, single.store.transactions)
	ratio("writes", steps.store.writes, single.store.writes)
	ratio("bytes", steps.store.bytes, single.store.bytes)
	ratio("processor time", steps.processor.Seconds(), single.processor.Seconds())
	ratio("time until settled", steps.settled.Seconds(), single.settled.Seconds())
	return nil
}

// newAt returns the job with number i, which is due once.
func newAt(i int, due time.Time) job.Job { return newJob(i, job.Spec{At: []time.Time{due}}) }

// define returns the job with number i. The jobs of a workflow have consecutive numbers, and the first of them is its root.
func (b *flow) define(i int, due time.Time) job.Job {
	step := i % b.steps
	if step == 0 {
		return newAt(i, due)
	}
	parent := i - 1
	if b.fan {
		parent = i - step
	}
	return newJob(i, job.Spec{After: []job.After{{Job: fmt.Sprint(jobPrefix, parent)}}})
}

// measure runs one slot of each job on a new cluster. It returns an error unless each ran once.
func (b *flow) measure(ctx context.Context, o *options, what string, define func(int, time.Time) job.Job) (took bill, err error) {
	n := b.workflows * b.steps
	list, err := members(filepath.Join(o.dir, what), o.members)
	if err != nil {
		return took, err
	}
	const ahead = 2 * time.Second // dispatch.arm_ahead
	due := time.Now().Add(10*time.Second + ahead + time.Duration(n)*300*time.Microsecond).Truncate(time.Second)
	led, err := newLedger(n, func(i int) job.Job { return newAt(i, due) })
	if err != nil {
		return took, err
	}
	led.from, led.to = due.Add(-time.Hour), due.Add(time.Hour)
	if _, err := fill(ctx, list, n, func(i int) job.Job { return define(i, due) }); err != nil {
		return took, err
	}
	c, err := o.start(ctx, list, nodeConfig{execute: led.execute, capacity: b.capacity, success: 100})
	if err != nil {
		return took, err
	}
	took, err = b.follow(ctx, o, c, led, due, due.Add(-ahead-time.Second))
	if err := errors.Join(err, c.close()); err != nil {
		return took, err
	}
	per := func(v float64) float64 { return v / float64(n) }
	say(what, "all settled %s after they were due; for each run %.3f transactions, %.1f writes, %.0f bytes, %.0f us of processor",
		ms(took.settled), per(took.store.transactions), per(took.store.writes), per(took.store.bytes), per(took.processor.Seconds()*1e6))
	return took, nil
}

// follow measures from the time before until all runs are settled.
func (b *flow) follow(ctx context.Context, o *options, c *cluster, led *ledger, due, before time.Time) (took bill, err error) {
	n := b.workflows * b.steps
	if time.Until(before) < 0 {
		return took, errors.New("the nodes were ready too late")
	}
	// The measurement begins at a fixed time.
	time.Sleep(time.Until(before))
	first, err := c.counters(ctx)
	if err != nil {
		return took, err
	}
	used := usage()
	stop, err := o.profiled()
	if err != nil {
		return took, err
	}
	if err := led.await(ctx, n, due.Add(5*time.Minute)); err != nil {
		return took, err
	}
	ended, err := c.settle(ctx)
	if err != nil {
		return took, err
	}
	stop()
	took.processor, took.settled = usage()-used, ended.Sub(due)
	last, err := c.counters(ctx)
	if err != nil {
		return took, err
	}
	took.store = last.minus(first)
	_, states, _, err := settled(ctx, c.list, n, due)
	if err != nil {
		return took, err
	}
	if _, missing, repeated := led.check(due, due.Add(time.Second), time.Second); missing+repeated > 0 || states[job.Succeeded] != n {
		return took, fmt.Errorf("runs are not accounted for: %d missing, %d repeated, in the store: %s",
			missing, repeated, counts(states))
	}
	return took, nil
}
