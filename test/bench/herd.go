package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// stampede is the herd benchmark: one run of each of many jobs, all due at the same instant.
type stampede struct {
	runs     int
	capacity int
	ahead    time.Duration
}

func herd() benchmark {
	var b stampede
	return benchmark{
		name: "herd", usage: "many runs due at one instant: when the last has begun, and when the last is settled",
		flags: func(f *flag.FlagSet) {
			f.IntVar(&b.runs, "runs", 10_000, "runs that are due")
			f.IntVar(&b.capacity, "capacity", 10_000, "worker.capacity")
			f.DurationVar(&b.ahead, "ahead", 2*time.Second, "dispatch.arm_ahead")
		},
		run: b.run,
	}
}

func (b *stampede) run(ctx context.Context, o *options) error {
	fmt.Printf("herd: %d runs due at one instant, %d members\n", b.runs, o.members)
	limit, cost, err := o.etcdLimit(ctx)
	if err != nil {
		return err
	}
	list, err := o.nodes()
	if err != nil {
		return err
	}
	due := time.Now().Add(10*time.Second + b.ahead + time.Duration(b.runs)*150*time.Microsecond).Truncate(time.Second)
	define := func(i int) job.Job { return newJob(i, job.Spec{At: []time.Time{due}}) }
	led, err := newLedger(b.runs, define)
	if err != nil {
		return err
	}
	led.from, led.to = due.Add(-time.Hour), due.Add(time.Hour)
	if _, err := fill(ctx, list, b.runs, define); err != nil {
		return err
	}
	c, err := o.start(ctx, list, nodeConfig{
		execute: led.execute, capacity: b.capacity, success: 100,
		extra: []string{"ROTA_DISPATCH_ARM_AHEAD=" + b.ahead.String()},
	})
	if err != nil {
		return err
	}
	err = b.measure(ctx, o, c, led, due)
	if limit > 0 {
		say("etcd itself", "%.0f puts/s at %.1f us of processor: four puts for each run take it %.2f s",
			limit, cost.Seconds()*1e6, 4*float64(b.runs)/limit)
	}
	return errors.Join(err, c.close())
}

func (b *stampede) measure(ctx context.Context, o *options, c *cluster, led *ledger, due time.Time) error {
	before := due.Add(-b.ahead - time.Second)
	if time.Until(before) < 0 {
		return errors.New("the nodes were ready too late")
	}
	// The measurement begins at a fixed time.
	time.Sleep(time.Until(before))
	used := usage()
	// Wait until the herd is due.
	time.Sleep(time.Until(due))
	stop, err := o.profiled()
	if err != nil {
		return err
	}
	atDue := usage()
	if err := led.await(ctx, b.runs, due.Add(2*time.Minute)); err != nil {
		return err
	}
	begun := usage()
	ended, err := c.settle(ctx)
	if err != nil {
		return err
	}
	stop()
	done := usage()
	if err := o.heapProfile(); err != nil {
		return err
	}
	say("begun", "the last %s after it was due", ms(time.Unix(0, led.last.Load()).Sub(due)))
	say("settled", "all %s after they were due", ms(ended.Sub(due)))
	say("late", "%s", led.late.quantiles())
	per := func(d time.Duration) float64 { return d.Seconds() * 1e6 / float64(b.runs) }
	say("per run", "%.1f us of processor: %.1f before it was due, %.1f until the last had begun, %.1f after",
		per(done-used), per(atDue-used), per(begun-atDue), per(done-begun))
	say("resident", "%.0f MiB, at most %.0f", memory("VmRSS"), memory("VmHWM"))
	behind, states, events, err := settled(ctx, c.list, b.runs, due)
	if err != nil {
		return err
	}
	_, missing, repeated := led.check(due, due.Add(time.Second), time.Second)
	say("in the store", "%d cursors behind, %d events, runs: %s", behind, len(events), counts(states))
	if missing+repeated+behind+len(events) > 0 || states[job.Succeeded] != b.runs {
		return fmt.Errorf("slots are not accounted for: %d missing, %d repeated", missing, repeated)
	}
	return nil
}
