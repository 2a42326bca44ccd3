package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// hoard is the scale benchmark: very many jobs, of which few are due.
type hoard struct {
	jobs, due int
}

func scale() benchmark {
	var b hoard
	return benchmark{
		name: "scale", usage: "very many jobs on one leader: ready after a cold start, memory, and a thousand due among them",
		flags: func(f *flag.FlagSet) {
			f.IntVar(&b.jobs, "jobs", 1_000_000, "jobs in the store, due once a day")
			f.IntVar(&b.due, "due", 1000, "further jobs, all due at one instant after the start")
		},
		run: b.run,
	}
}

func (b *hoard) run(ctx context.Context, o *options) error {
	fmt.Printf("scale: %d jobs, %d of them due at one instant, %d members\n", b.jobs+b.due, b.due, o.members)
	list, err := o.nodes()
	if err != nil {
		return err
	}
	before := time.Now().Add(-2 * time.Hour)
	daily := fmt.Sprintf("%d %d * * *", before.UTC().Minute(), before.UTC().Hour())
	filled, err := fill(ctx, list, b.jobs, func(i int) job.Job {
		return newJob(b.due+i, job.Spec{Schedule: []string{daily}, Jitter: job.Duration(time.Hour)})
	})
	if err != nil {
		return err
	}
	say("written", "%.0f jobs/s", float64(b.jobs)/filled.Seconds())
	// The due jobs are written last: nobody knows before how long the others take.
	due := time.Now().Add(45*time.Second + time.Duration(b.jobs)*100*time.Microsecond).Truncate(time.Second)
	define := func(i int) job.Job { return newJob(i, job.Spec{At: []time.Time{due}}) }
	led, err := newLedger(b.due, define)
	if err != nil {
		return err
	}
	led.from, led.to = due.Add(-time.Hour), due.Add(time.Hour)
	if _, err := fill(ctx, list, b.due, define); err != nil {
		return err
	}
	o.stopSpare()
	debug.FreeOSMemory() // the memory of the fill does not count for the nodes
	o.spareMemory(ctx)   // the start of the nodes is that of a process
	say("before the start", "%.0f MiB resident", memory("RssAnon"))
	stop, err := o.profiled()
	if err != nil {
		return err
	}
	began, used := time.Now(), usage()
	c, err := o.start(ctx, list, nodeConfig{execute: led.execute, capacity: 10_000, success: 100})
	stop()
	if err != nil {
		return err
	}
	say("ready and leading", "%.1f s after the start, %.1f s of processor", time.Since(began).Seconds(), (usage() - used).Seconds())
	err = b.measure(ctx, o, c, led, due)
	return errors.Join(err, c.close())
}

func (b *hoard) measure(ctx context.Context, o *options, c *cluster, led *ledger, due time.Time) error {
	const idle, before = 10 * time.Second, 5 * time.Second // the idle time ends before anything is armed ahead
	if time.Until(due) < idle+before {
		return errors.New("the nodes were ready too late")
	}
	// The idle window begins at a fixed time.
	time.Sleep(time.Until(due.Add(-idle - before)))
	say("resident", "%.0f MiB of its own, %.0f of files (etcd's database, which is reclaimed at need)", memory("RssAnon"), memory("RssFile"))
	used := usage()
	// The measured window has a fixed length.
	time.Sleep(idle)
	say("idle", "%.2f %% of a core", 100*(usage()-used).Seconds()/idle.Seconds())
	runtime.GC()
	say("live", "%.0f MiB: %.0f bytes for each job", live()/(1<<20), live()/float64(b.jobs))
	if err := led.await(ctx, b.due, due.Add(time.Minute)); err != nil {
		return err
	}
	say("begun", "the last %s after it was due", ms(time.Unix(0, led.last.Load()).Sub(due)))
	say("late", "%s", led.late.quantiles())
	say("resident at the end", "%.0f MiB of its own", memory("RssAnon"))
	return o.heapProfile()
}
