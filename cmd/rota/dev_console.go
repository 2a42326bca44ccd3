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

// console prints the events of a cluster as lines: changes of the leader, changes of jobs, and every run.
type console struct {
	cli     *cli
	servers string
	token   string    // path of the file with the token
	files   string    // hash of the job files that must be in force before the console starts; "" for none
	started time.Time // a leader from before this time belongs to the previous start, and its term will soon expire
	client  *client.Client
	leader  api.LeaderView
	seen    int64               // revision up to which the events are printed
	jobs    map[string]shownJob // by name; the state of each job that was printed last
}

// shownJob is the printed state of a job.
type shownJob struct {
	generation int64
	paused     bool
}

func newConsole(c *cli, servers, token, files string) *console {
	return &console{cli: c, servers: servers, token: token, files: files, started: time.Now(), jobs: map[string]shownJob{}}
}

// How often the console polls the cluster, and how long it waits for the job files.
const (
	consolePoll  = 200 * time.Millisecond
	filesTimeout = 5 * time.Second
)

// run prints until ctx ends.
func (c *console) run(ctx context.Context) {
	var err error
	if c.client, err = client.New(client.Config{Servers: c.servers, TokenFile: c.token, Timeout: 2 * time.Second}); err != nil {
		c.cli.printErr("%v", err)
		return
	}
	defer c.client.Close()
	if !c.greet(ctx) {
		return
	}
	done := make(chan struct{})
	go func() { // the deferred function waits for it
		defer close(done)
		c.followLeader(ctx)
	}()
	defer func() { <-done }()
	c.followChanges(ctx)
}

// greet waits for a leader and for its job files. Then it prints the state of the cluster. It returns false if ctx ends first.
func (c *console) greet(ctx context.Context) bool {
	var deadline time.Time // for the job files; zero until there is a leader
	for ; ; _ = sleep(ctx, consolePoll) {
		v, err := c.client.Cluster(ctx)
		switch {
		case ctx.Err() != nil:
			return false
		case err != nil || v.Leader == nil || !v.Ready || v.Leader.Since.Before(c.started):
			continue
		case deadline.IsZero():
			c.leader, c.seen = *v.Leader, v.Store.Revision
			c.line("leader %s · term %d · %s", v.Leader.Node, v.Leader.Term, strings.ReplaceAll(c.servers, ",", " "))
			c.showLogin(ctx)
			deadline = time.Now().Add(filesTimeout)
		}
		if c.files == "" || v.Files.Hash == c.files || time.Now().After(deadline) {
			break
		}
	}
	jobs, err := c.client.Jobs(ctx)
	if err != nil {
		return ctx.Err() == nil
	}
	if len(jobs) == 0 {
		c.line("no jobs yet: write a job file and start with --jobs FILE, or run `rota apply FILE`")
		return true
	}
	c.line("%s:", counted(len(jobs), "job"))
	name, when := 0, 0
	for i := range jobs {
		name, when = max(name, len(jobs[i].Name)), max(when, len(scheduleAndZone(&jobs[i])))
	}
	for i := range jobs {
		j := &jobs[i]
		c.jobs[j.Name] = shownJob{j.Generation, j.Paused != nil}
		text := fmt.Sprintf("  %-*s   %-*s   %s", name, j.Name, when, scheduleAndZone(j), nextText(j))
		c.line("%s", strings.TrimRight(text, " "))
	}
	return true
}

// showLogin prints a link that signs a browser in. Its host is an address, because a port of localhost may lead to another user.
func (c *console) showLogin(ctx context.Context) {
	if code, err := c.client.LoginCode(ctx); err == nil {
		c.line("page   %s%s (works once, for 5 minutes; then use `rota open`)", strings.Split(c.servers, ",")[0], code.Path)
	}
}

// scheduleAndZone returns a job's schedule with its time zone.
func scheduleAndZone(j *api.JobView) string {
	text := scheduleOf(j.Spec)
	switch {
	case text == "":
		return "on request"
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
		return "next " + j.Next.Local().Format("2006-01-02 15:04:05 MST")
	case j.Spec.Scheduled():
		return "no more runs"
	}
	return ""
}

// followLeader prints each new leader.
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

// followChanges prints a line for each start and end of a run, and for each change of a job.
func (c *console) followChanges(ctx context.Context) {
	for ctx.Err() == nil {
		for e, err := range c.client.Events(ctx, client.EventFilter{After: c.seen, Kinds: []string{api.KindRun, api.KindJob}}) {
			if err != nil {
				if ctx.Err() == nil && !errors.Is(err, api.ErrUnavailable) {
					c.cli.printErr("events: %v", err)
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

// showJob prints the change of a job.
func (c *console) showJob(e api.Event) {
	known, exists := c.jobs[e.Name]
	if e.Deleted {
		if exists {
			c.line("job %s removed", e.Name)
		}
		delete(c.jobs, e.Name)
		return
	}
	var j api.JobView
	if json.Unmarshal(e.Value, &j) != nil || exists && j.Generation < known.generation {
		return
	}
	now := shownJob{j.Generation, j.Paused != nil}
	c.jobs[e.Name] = now
	text := scheduleAndZone(&j)
	if next := nextText(&j); next != "" {
		text += ", " + next
	}
	switch {
	case !exists:
		c.line("job %s added: %s", j.Name, text)
	case known.generation < now.generation:
		c.line("job %s changed: %s", j.Name, text)
	case known.paused != now.paused && now.paused:
		c.line("job %s paused", j.Name)
	case known.paused != now.paused:
		c.line("job %s resumed", j.Name)
	}
}

// show prints the state of a run.
func (c *console) show(r *api.RunView) {
	switch {
	case r.State == job.Running && r.Cancel == nil:
		c.lineAt(r.Started, "%s started on %s (attempt %d, token %d)", r.Name(), r.Worker, r.Attempt, r.Token)
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
		c.lineAt(r.Finished, "%s %s%s", r.Name(), r.State, detail)
	case r.State == job.Pending && r.Reason != "":
		text := "waits: " + r.Reason
		if strings.HasPrefix(r.Reason, "waits ") {
			text = r.Reason
		}
		if due := r.KnownDue(); due.After(time.Now()) {
			text += ", until " + due.Local().Format("2006-01-02 15:04:05 MST")
		}
		c.line("%s %s", r.Name(), text)
	}
}

func (c *console) line(format string, args ...any) { c.lineAt(time.Now(), format, args...) }

// lineAt prints a line with the time at which it happened; zero stands for now.
func (c *console) lineAt(at time.Time, format string, args ...any) {
	if at.IsZero() {
		at = time.Now()
	}
	// A closed stdout is no error.
	_, _ = fmt.Fprintf(c.cli.out, "%s %s\n", at.Local().Format(time.TimeOnly), printable(fmt.Sprintf(format, args...)))
}
