package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// sustained is the throughput benchmark: as many jobs as the rate needs, each due every second, spread over the second.
type sustained struct {
	rate    int
	every   time.Duration
	lasts   time.Duration
	warm    time.Duration
	aligned bool
	http    bool
	keep    int
}

func throughput() benchmark {
	var b sustained
	return benchmark{
		name: "throughput", usage: "recurring handler runs, each with its record, claim and outcome in etcd",
		flags: func(f *flag.FlagSet) {
			f.IntVar(&b.rate, "rate", 20_000, "runs per second that are due")
			f.DurationVar(&b.every, "every", time.Second, "period of each job")
			f.DurationVar(&b.lasts, "for", 20*time.Second, "how long is measured")
			f.DurationVar(&b.warm, "warm", 5*time.Second, "how long before that runs are due, too")
			f.BoolVar(&b.aligned, "aligned", false, "all at the whole second, instead of spread evenly")
			f.BoolVar(&b.http, "http", false, "the jobs call a target in this process by HTTP, in place of a handler")
			f.IntVar(&b.keep, "keep", 3, "runs of each job that are kept: older ones are deleted while it is measured")
		},
		run: b.run,
	}
}

func (b *sustained) run(ctx context.Context, o *options) (err error) {
	n := int(float64(b.rate) * b.every.Seconds())
	fmt.Printf("throughput: %d jobs every %v, %d members\n", n, b.every, o.members)
	limit, cost, err := o.etcdLimit(ctx)
	if err != nil {
		return err
	}
	list, err := o.nodes()
	if err != nil {
		return err
	}
	// Slots begin after all definitions are written and all nodes are ready.
	start := time.Now().Add(10*time.Second + time.Duration(n)*100*time.Microsecond).Truncate(b.every)
	end := start.Add((b.warm + b.lasts).Truncate(b.every))
	define := func(i int) job.Job {
		spec := job.Spec{Every: job.Duration(b.every), Start: &start, End: &end, Overlap: job.OverlapAllow}
		if !b.aligned {
			spec.Jitter = job.Duration(b.every)
		}
		return newJob(i, spec)
	}
	led, err := newLedger(n, define)
	if err != nil {
		return err
	}
	led.from, led.to = start.Add(b.warm), end
	cfg := nodeConfig{execute: led.execute, capacity: 10_000, success: b.keep}
	if b.http {
		var to *target
		if to, err = newTarget(ctx, led.execute); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, to.close()) }()
		handled := define
		define = func(i int) job.Job { return to.calls(handled(i)) }
		cfg.extra = []string{"ROTA_WORKER_HTTP_ALLOW=127.0.0.0/8"}
	}
	filled, err := fill(ctx, list, n, define)
	if err != nil {
		return err
	}
	c, err := o.start(ctx, list, cfg)
	if err != nil {
		return err
	}
	if late := time.Since(start); late > 0 {
		return errors.Join(fmt.Errorf("the nodes were ready %v after the first slot", late), c.close())
	}
	// Wait until the first slot is due.
	time.Sleep(time.Until(start))
	begin, err := c.spent(ctx)
	if err == nil {
		err = b.measure(ctx, o, c, led, limit, cost)
	}
	if err == nil {
		err = c.total(ctx, led, begin, n*int(end.Sub(start)/b.every))
	}
	if err == nil {
		say("jobs written", "%.0f /s", float64(n)/filled.Seconds())
		err = b.account(ctx, c, led, start, end)
	}
	return errors.Join(err, c.close())
}

// measure reports the rate and the costs between led.from and led.to.
func (b *sustained) measure(ctx context.Context, o *options, c *cluster, led *ledger, limit float64, cost time.Duration) error {
	// The measured window begins at a fixed time.
	time.Sleep(time.Until(led.from))
	stop, err := o.profiled()
	if err != nil {
		return err
	}
	before, err := c.counters(ctx)
	if err != nil {
		return err
	}
	used := usage()
	// The measured window ends at a fixed time.
	time.Sleep(time.Until(led.to))
	used = usage() - used
	after, err := c.counters(ctx)
	stop()
	if err := errors.Join(err, o.heapProfile()); err != nil {
		return err
	}
	d, runs := after.minus(before), float64(led.begun.Load())
	rate := runs / b.lasts.Seconds()
	say("runs begun", "%.0f /s of %d /s due", rate, b.rate)
	say("late", "%s", led.late.quantiles())
	say("per run", "%.2f puts, %.3f transactions, %.0f bytes, %.1f us of processor",
		d.puts/runs, d.transactions/runs, d.bytes/runs, used.Seconds()*1e6/runs)
	if limit > 0 {
		puts := d.puts / b.lasts.Seconds()
		say("etcd itself", "%.0f puts/s at %.1f us of processor; this is %.0f puts/s, %.0f %%",
			limit, cost.Seconds()*1e6, puts, 100*puts/limit)
	}
	say("etcd's disk", "%.0f syncs of the log at %.1f ms, %.0f commits of the database at %.1f ms",
		d.syncs, 1000*d.syncTime/d.syncs, d.commits, 1000*d.commitTime/d.commits)
	say("resident", "%.0f MiB, at most %.0f", memory("VmRSS"), memory("VmHWM"))
	say("refused", "%.0f conflicts, %.0f fenced", d.conflicts, d.fenced)
	return nil
}

// spent has the costs up to an instant.
type spent struct {
	at   time.Time
	used time.Duration // processor time
	counters
}

func (c *cluster) spent(ctx context.Context) (spent, error) {
	now, err := c.counters(ctx)
	return spent{time.Now(), usage(), now}, err
}

// total waits until all runs have started and their outcomes are in the store. It reports the cost per run since begin. It also
// works if more runs were due than the machine could execute.
func (c *cluster) total(ctx context.Context, led *ledger, begin spent, runs int) error {
	limit := time.Now().Add(2 * time.Minute)
	if err := led.await(ctx, runs, limit); err != nil {
		return err
	}
	// A poll with a deadline.
	for ; ; time.Sleep(100 * time.Millisecond) {
		end, err := c.spent(ctx)
		if err != nil {
			return err
		}
		if end.unsent > 0 && time.Now().Before(limit) {
			continue
		}
		d, n := end.minus(begin.counters), float64(runs)
		say("runs settled", "%.0f /s, from the first slot to the last outcome", n/end.at.Sub(begin.at).Seconds())
		say("all in all, per run", "%.2f puts, %.3f transactions, %.0f bytes, %.1f us of processor",
			d.puts/n, d.transactions/n, d.bytes/n, (end.used-begin.used).Seconds()*1e6/n)
		return nil
	}
}

// account waits until every run has ended, and compares the runs with the slots of the jobs.
func (b *sustained) account(ctx context.Context, c *cluster, led *ledger, start, end time.Time) error {
	var missing, repeated, want, behind int
	var events []job.Event
	var states map[job.State]int
	// A poll with a deadline.
	for limit := time.Now().Add(2 * time.Minute); ; time.Sleep(500 * time.Millisecond) {
		if want, missing, repeated = led.check(start, end, b.every); missing > 0 && time.Now().Before(limit) {
			continue
		}
		var err error
		if behind, states, events, err = settled(ctx, c.list, len(led.jobs), end.Add(-b.every)); err != nil {
			return err
		}
		if behind == 0 && states[job.Pending]+states[job.Armed]+states[job.Running] == 0 || time.Now().After(limit) {
			break
		}
	}
	say("slots", "%d, missing %d, repeated %d; last begun %s after the last was due", want, missing, repeated,
		ms(time.Unix(0, led.last.Load()).Sub(end)))
	say("in the store", "%d cursors behind, %d events, runs kept: %s", behind, len(events), counts(states))
	if len(events) > 0 {
		say("the first event", "%s of %s: %s", events[0].Kind, events[0].Job, events[0].Reason)
	}
	if missing+repeated+behind+len(events) > 0 || len(states) > 1 || states[job.Succeeded] == 0 {
		return errors.New("slots are not accounted for")
	}
	return nil
}

func counts(states map[job.State]int) (text string) {
	for _, s := range slices.Sorted(maps.Keys(states)) {
		text += fmt.Sprintf("%d %s ", states[s], s)
	}
	return text
}
