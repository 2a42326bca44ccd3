package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// console shows what happens in a cluster, as lines: who leads, which jobs there are, and every run.
type console struct {
	cli     *cli
	servers string
	files   string    // hash of the job files, which are waited for; "" for none
	began   time.Time // who led before is of an earlier start, and its term has not yet run out
	client  *client.Client
	leader  api.LeaderView
	seen    int64                // revision up to which everything has been shown
	jobs    map[string]*shownJob // as they were shown last
}

// shownJob is what has been told of a job.
type shownJob struct {
	generation int64
	paused     bool
}

func newConsole(c *cli, servers, files string) *console {
	return &console{cli: c, servers: servers, files: files, began: time.Now(), jobs: map[string]*shownJob{}}
}

// How often it is asked who leads, and how long the job files may take to be in force before the jobs are shown.
const (
	consolePoll = 200 * time.Millisecond
	filesInTime = 5 * time.Second
)

// run prints until ctx ends.
func (c *console) run(ctx context.Context) {
	var err error
	if c.client, err = client.New(client.Config{Servers: c.servers, Timeout: 2 * time.Second}); err != nil {
		c.cli.note("%v", err)
		return
	}
	defer c.client.Close()
	if !c.greet(ctx) {
		return
	}
	done := make(chan struct{})
	go func() { // waited for below
		defer close(done)
		c.followLeader(ctx)
	}()
	defer func() { <-done }()
	c.followChanges(ctx)
}

// greet waits for a leader and shows the cluster.
func (c *console) greet(ctx context.Context) bool {
	for {
		v, err := c.client.Cluster(ctx)
		if err == nil && v.Leader != nil && v.Ready && !v.Leader.Since.Before(c.began) {
			c.leader, c.seen = *v.Leader, v.Store.Revision
			c.line("leader %s · term %d · %s", v.Leader.Node, v.Leader.Term, strings.Split(c.servers, ",")[0])
			break
		}
		if sleep(ctx, consolePoll) != nil {
			return false
		}
	}
	c.awaitFiles(ctx)
	jobs, err := c.client.Jobs(ctx)
	if err != nil {
		return ctx.Err() == nil
	}
	if len(jobs) == 0 {
		c.line("no jobs yet: write a job file and start with --jobs FILE, or `rota apply FILE`")
		return true
	}
	c.line("%s:", counted(len(jobs), "job"))
	name, when := 0, 0
	for i := range jobs {
		name, when = max(name, len(jobs[i].Name)), max(when, len(whenText(&jobs[i])))
	}
	for i := range jobs {
		j := &jobs[i]
		c.jobs[j.Name] = &shownJob{j.Generation, j.Paused != nil}
		c.line("%s", strings.TrimRight(fmt.Sprintf("  %-*s   %-*s   %s", name, j.Name, when, whenText(j), nextText(j)), " "))
	}
	return true
}

// awaitFiles waits until the leader has put the job files in force.
func (c *console) awaitFiles(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, filesInTime)
	defer cancel()
	for c.files != "" {
		v, err := c.client.Cluster(ctx)
		if err == nil && v.Files.Hash == c.files || sleep(ctx, consolePoll) != nil {
			return
		}
	}
}

// whenText is a job's schedule, and the zone in which it is to be read.
func whenText(j *api.JobView) string {
	text := scheduleOf(j.Spec)
	switch {
	case text == "":
		return "when asked"
	case len(j.Spec.Schedule) > 0 && j.Spec.Timezone != "" && j.Spec.Timezone != "UTC":
		return text + " " + j.Spec.Timezone
	}
	return text
}

func nextText(j *api.JobView) string {
	switch {
	case j.Paused != nil:
		return "paused"
	case j.Next != nil:
		return "next " + j.Next.Local().Format("2006-01-02 15:04:05")
	case j.Spec.Scheduled():
		return "no more runs"
	}
	return ""
}

// followLeader says when somebody else leads.
func (c *console) followLeader(ctx context.Context) {
	for sleep(ctx, consolePoll) == nil {
		v, err := c.client.Cluster(ctx)
		if err != nil || v.Leader == nil || v.Leader.Term == c.leader.Term {
			continue
		}
		c.leader = *v.Leader
		c.line("leader %s · term %d", v.Leader.Node, v.Leader.Term)
	}
}

// followChanges prints a line for each run as it begins and ends, and for each job as it changes.
func (c *console) followChanges(ctx context.Context) {
	for ctx.Err() == nil {
		for e, err := range c.client.Events(ctx, client.EventFilter{After: c.seen, Kinds: []string{api.KindRun, api.KindJob}}) {
			if err != nil {
				if ctx.Err() == nil && !errors.Is(err, api.ErrUnavailable) {
					c.cli.note("events: %v", err)
				}
				break
			}
			c.seen = max(c.seen, e.Revision)
			if e.Kind == api.KindJob {
				c.showJob(e)
				continue
			}
			var r api.RunView
			if e.Kind == api.KindRun && !e.Deleted && json.Unmarshal(e.Value, &r) == nil {
				c.show(&r)
			}
		}
		_ = sleep(ctx, consolePoll)
	}
}

// showJob tells what has changed of a job.
func (c *console) showJob(e api.Event) {
	known := c.jobs[e.Name]
	if e.Deleted {
		if known != nil {
			c.line("job %s removed", e.Name)
		}
		delete(c.jobs, e.Name)
		return
	}
	var j api.JobView
	if json.Unmarshal(e.Value, &j) != nil || known != nil && j.Generation < known.generation {
		return
	}
	now := &shownJob{j.Generation, j.Paused != nil}
	c.jobs[e.Name] = now
	change := ""
	switch {
	case known == nil:
		change = "added"
	case known.generation < now.generation:
		change = "changed"
	case known.paused != now.paused && now.paused:
		c.line("job %s paused", j.Name)
	case known.paused != now.paused:
		c.line("job %s resumed", j.Name)
	}
	if change == "" {
		return
	}
	text := whenText(&j)
	if next := nextText(&j); next != "" {
		text += ", " + next
	}
	c.line("job %s %s: %s", j.Name, change, text)
}

func (c *console) show(r *api.RunView) {
	switch {
	case r.State == job.Running && r.Cancel == nil:
		at := time.Now()
		if r.Started.After(at) { // it is claimed a little before its time
			at = r.Started.Local()
		}
		c.lineAt(at, "%s started on %s (attempt %d, token %d)", r.Name(), r.Worker, r.Attempt, r.Token)
	case r.State == job.Skipped:
		c.line("%s skipped: %s", r.Name(), r.Reason)
	case r.State.Terminal():
		detail := ""
		if !r.Started.IsZero() && !r.Finished.Before(r.Started) {
			detail = fmt.Sprintf(" in %s", r.Finished.Sub(r.Started).Round(time.Millisecond))
		}
		if r.Reason != "" {
			detail += ": " + r.Reason
		}
		c.line("%s %s%s", r.Name(), r.State, detail)
	case r.State == job.Pending && r.Reason != "":
		text := "waits: " + r.Reason
		if strings.HasPrefix(r.Reason, "waits ") {
			text = r.Reason
		}
		if r.Due.After(time.Now()) {
			text += ", until " + r.Due.Local().Format("2006-01-02 15:04:05")
		}
		c.line("%s %s", r.Name(), text)
	}
}

func (c *console) line(format string, args ...any) { c.lineAt(time.Now(), format, args...) }

func (c *console) lineAt(at time.Time, format string, args ...any) {
	// Whoever closed stdout does not want to know.
	_, _ = fmt.Fprintf(c.cli.out, "%s %s\n", at.Format(time.TimeOnly), printable(fmt.Sprintf(format, args...)))
}
