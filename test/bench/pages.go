package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor/handler"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// crowd is the benchmark of open pages: jobs run at a steady rate, first without an open page, and then with many.
type crowd struct {
	pages, jobs int
	every       time.Duration
	lasts       time.Duration
	late        atomic.Pointer[latencies] // of the present part
}

func pages() benchmark {
	var b crowd
	return benchmark{
		name: "pages", usage: "what open pages cost the replica that answers them, and whether runs are later",
		flags: func(f *flag.FlagSet) {
			f.IntVar(&b.pages, "pages", 1000, "open pages, all on the first node")
			f.IntVar(&b.jobs, "jobs", 100, "jobs")
			f.DurationVar(&b.every, "every", 10*time.Second, "distance between the slots of a job")
			f.DurationVar(&b.lasts, "for", 30*time.Second, "how long each of the two parts is measured")
		},
		run: b.run,
	}
}

func (b *crowd) run(ctx context.Context, o *options) error {
	fmt.Printf("pages: %d open pages, %d jobs each %v, %d members\n", b.pages, b.jobs, b.every, o.members)
	list, err := o.nodes()
	if err != nil {
		return err
	}
	define := func(i int) job.Job {
		return newJob(i, job.Spec{Every: job.Duration(b.every), Jitter: job.Duration(b.every)})
	}
	if _, err := fill(ctx, list, b.jobs, define); err != nil {
		return err
	}
	led, err := newLedger(b.jobs, define)
	if err != nil {
		return err
	}
	b.late.Store(&latencies{})
	execute := func(ctx context.Context, t handler.Task) error {
		now := time.Now()
		if err := led.execute(ctx, t); err != nil {
			return err
		}
		i, err := strconv.Atoi(strings.TrimPrefix(t.Job, jobPrefix))
		b.late.Load().add(now.Sub(t.Slot.Add(led.jobs[i].offset)))
		return err
	}
	c, err := o.start(ctx, list, nodeConfig{execute: execute, capacity: 64, success: 20})
	if err != nil {
		return err
	}
	return errors.Join(b.measure(ctx, o, c, led), c.close())
}

func (b *crowd) measure(ctx context.Context, o *options, c *cluster, led *ledger) error {
	if err := led.await(ctx, 2*b.jobs, time.Now().Add(3*b.every+10*time.Second)); err != nil {
		return err
	}
	b.part("without pages")
	// The pages are another process, so that their work does not count.
	var report bytes.Buffer
	open := exec.CommandContext(ctx, os.Args[0], "open", "-url", "http://"+c.list[0].http, "-pages", strconv.Itoa(b.pages))
	open.Stdout, open.Stderr = &report, os.Stderr
	end, err := open.StdinPipe()
	if err != nil {
		return err
	}
	if err := open.Start(); err != nil {
		return err
	}
	// The pages open within ten seconds. There is no condition to poll: the measured part is what comes after.
	time.Sleep(20 * time.Second)
	stop, err := o.profiled()
	if err == nil {
		b.part(fmt.Sprintf("with %d pages", b.pages))
		stop()
	}
	err = errors.Join(err, end.Close(), open.Wait())
	for line := range strings.Lines(report.String()) {
		fmt.Print(line)
	}
	return err
}

// part measures one part.
func (b *crowd) part(what string) {
	late := &latencies{}
	b.late.Store(late)
	used := usage()
	// The measured window has a fixed length.
	time.Sleep(b.lasts)
	used = usage() - used
	b.late.Store(&latencies{})
	say(what+", late", "%s, of %d runs", late.quantiles(), len(late.list))
	say("processor", "%.1f %% of a core", 100*used.Seconds()/b.lasts.Seconds())
	say("resident", "%.0f MiB, %.1f MiB in use", memory("VmRSS"), live()/(1<<20))
}
