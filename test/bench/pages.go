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
	"time"

	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// crowd is the benchmark of open pages. Jobs run at a steady rate, first without an open page. Then one replica has many, which
// does not lead if there is another.
type crowd struct {
	pages, jobs int
	every       time.Duration
	lasts       time.Duration
}

func pages() benchmark {
	var b crowd
	return benchmark{
		name: "pages", usage: "what open pages cost each replica, and whether runs are later",
		flags: func(f *flag.FlagSet) {
			f.IntVar(&b.pages, "pages", 1000, "open pages of one replica, which does not lead if there is another")
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
	c, err := o.startApart(ctx, list, nodeConfig{capacity: 64, success: 20})
	if err != nil {
		return err
	}
	return errors.Join(b.measure(ctx, c), c.close())
}

func (b *crowd) measure(ctx context.Context, c *apart) error {
	// The first slots are those after the start. There is no condition to poll: the measured part is what comes after.
	time.Sleep(b.every)
	if err := b.part(ctx, c, "without pages"); err != nil {
		return err
	}
	var report bytes.Buffer
	open := exec.CommandContext(ctx, os.Args[0], "open", "-url", "http://"+c.viewed.http, "-pages", strconv.Itoa(b.pages))
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
	err = b.part(ctx, c, fmt.Sprintf("with %d pages", b.pages))
	err = errors.Join(err, end.Close(), open.Wait())
	for line := range strings.Lines(report.String()) {
		fmt.Print(line)
	}
	return err
}

// part measures one part.
func (b *crowd) part(ctx context.Context, c *apart, what string) error {
	fmt.Println(what)
	began, before := time.Now(), c.usage()
	// The measured window has a fixed length.
	time.Sleep(b.lasts)
	for i, used := range c.usage() {
		m := &c.list[i]
		role := "follower"
		switch {
		case m.name == c.leader && m == c.viewed:
			role = "leader, viewed"
		case m.name == c.leader:
			role = "leader"
		case m == c.viewed:
			role = "follower, viewed"
		}
		say(m.name+", "+role, "%.1f %% of a core, %.0f MiB", 100*(used-before[i]).Seconds()/b.lasts.Seconds(),
			memoryOf(c.processes[i].cmd.Process.Pid, "VmRSS"))
	}
	late := &latencies{}
	for next := ""; ; {
		list, err := c.Runs(ctx, client.RunFilter{Since: began.UTC().Format(time.RFC3339)}, next)
		if err != nil {
			return err
		}
		for _, r := range list.Runs {
			if !r.Started.IsZero() {
				late.add(r.Started.Sub(r.Due))
			}
		}
		if next = list.Continue; next == "" {
			break
		}
	}
	say("late", "%s, of %d runs", late.quantiles(), len(late.list))
	return nil
}
