package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor/handler"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// rest is the idle benchmark: jobs that are not due.
type rest struct {
	jobs  int
	lasts time.Duration
}

func idle() benchmark {
	var b rest
	return benchmark{
		name: "idle", usage: "what a cluster costs while nothing is due: writes, and processor time",
		flags: func(f *flag.FlagSet) {
			f.IntVar(&b.jobs, "jobs", 1000, "jobs in the store, due tomorrow")
			f.DurationVar(&b.lasts, "for", 30*time.Second, "how long is measured")
		},
		run: b.run,
	}
}

func (b *rest) run(ctx context.Context, o *options) error {
	fmt.Printf("idle: %d jobs, nothing due, %d members\n", b.jobs, o.members)
	list, err := o.nodes()
	if err != nil {
		return err
	}
	tomorrow := time.Now().Add(24 * time.Hour).Truncate(time.Second)
	define := func(i int) job.Job { return newJob(i, job.Spec{At: []time.Time{tomorrow}}) }
	if _, err := fill(ctx, list, b.jobs, define); err != nil {
		return err
	}
	nothing := func(context.Context, handler.Task) error { return nil }
	c, err := o.start(ctx, list, nodeConfig{execute: nothing, capacity: 64, success: 100})
	if err != nil {
		return err
	}
	return errors.Join(b.measure(ctx, o, c), c.close())
}

func (b *rest) measure(ctx context.Context, o *options, c *cluster) error {
	// The nodes finish the work of their start. There is no condition to poll, because they do not report the end of this work.
	time.Sleep(5 * time.Second)
	before, err := c.counters(ctx)
	if err != nil {
		return err
	}
	rev, err := c.revision(ctx)
	if err != nil {
		return err
	}
	stop, err := o.profiled()
	if err != nil {
		return err
	}
	used := usage()
	// The measured window has a fixed length.
	time.Sleep(b.lasts)
	used = usage() - used
	stop()
	after, err := c.counters(ctx)
	if err != nil {
		return err
	}
	now, err := c.revision(ctx)
	if err != nil {
		return err
	}
	d := after.minus(before)
	say("written", "%d revisions of etcd, %.0f puts in %.0f transactions, in %v", now-rev, d.puts, d.transactions, b.lasts)
	say("processor", "%.2f %% of a core, for %d nodes with their etcd", 100*used.Seconds()/b.lasts.Seconds(), o.members)
	say("resident", "%.0f MiB", memory("VmRSS"))
	if now != rev {
		return errors.New("an idle cluster writes")
	}
	return nil
}
