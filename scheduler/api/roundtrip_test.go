package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestClientAndServer calls each operation of the client on a real server.
func TestClientAndServer(t *testing.T) {
	f := newFake()
	slot := time.Date(2026, 1, 31, 2, 30, 0, 0, time.UTC)
	done := f.putRun(job.Run{Job: "backup", ID: job.SlotID(slot), Slot: slot, State: job.Failed})
	f.output[done.Name()] = func(context.Context, bool) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("out of space\n")), nil
	}
	srv := serve(t, f.backend(), func(c *api.Config) { c.Version.Version = "1.2.3" })
	c, err := client.New(client.Config{Servers: srv.URL, By: "alice"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	ctx := t.Context()
	check := func(what string, ok bool, err error, got any) {
		t.Helper()
		if err != nil || !ok {
			t.Errorf("%s: got %+v, %v", what, got, err)
		}
	}

	cluster, err := c.Cluster(ctx)
	check("cluster", cluster.Name == "/rota" && cluster.Store.Revision == 103, err, cluster)
	jobs, err := c.Jobs(ctx)
	check("jobs", len(jobs) == 2 && jobs[0].Job.Name == "backup", err, jobs)
	one, err := c.Job(ctx, "backup")
	check("job", one.Revision == 101 && one.Origin.Source == "jobs.yaml", err, one)
	workers, err := c.Workers(ctx)
	check("workers", len(workers) == 1 && workers[0].Free == 3, err, workers)
	run, err := c.Run(ctx, done.Name())
	check("run", run.Ref == done.Name() && run.State == job.Failed && run.Revision == done.Rev, err, run)
	page, err := c.Runs(ctx, client.RunFilter{Job: "backup", States: []job.State{job.Failed}, Limit: 1}, "")
	check("runs", len(page.Runs) == 1 && page.Continue == "", err, page)
	next, err := c.Next(ctx, "backup", slot, 3)
	check("next", len(next.Slots) == 3, err, next)
	why, err := c.Explain(ctx, "backup", slot)
	check("explain", why.Slot.Equal(slot), err, why)
	found, err := c.FindJobs(ctx, client.JobFilter{Search: "back", Limit: 10, Recent: 5}, "")
	check("find jobs", len(found.Jobs) == 1 && found.Jobs[0].Job.Name == "backup", err, found)
	gantt, err := c.Gantt(ctx, client.GanttFilter{From: slot, Until: slot.Add(time.Hour), Job: "backup", States: []string{"ok"}}, "")
	check("gantt", len(gantt.Rows) == 1 && gantt.From.Equal(slot), err, gantt)
	load, err := c.Load(ctx)
	check("load", len(load.Minutes) == api.LoadMinutes, err, load.Jobs)
	summary, err := c.Overview(ctx)
	check("overview", summary.Jobs == 2, err, summary)
	version, err := c.Version(ctx)
	check("version", version.Version == "1.2.3", err, version)
	checks, ready, err := c.Ready(ctx)
	check("ready", ready && strings.Contains(checks, "[+]serving ok"), err, checks)

	spec := job.Spec{Schedule: []string{"30 2 * * *"}, Shell: "true", Timeout: job.Duration(time.Minute), Payload: json.RawMessage(`{"a":1}`)}
	put, created, err := c.PutJob(ctx, "new", spec, api.Precondition{Absent: true})
	check("put", created && put.Spec.Timeout == spec.Timeout && put.Origin.Source == "alice from 127.0.0.1", err, put)
	_, created, err = c.PutJob(ctx, "new", spec, api.Precondition{Revision: put.Revision})
	check("put again", !created, err, created)
	if _, _, err = c.PutJob(ctx, "new", spec, api.Precondition{Revision: put.Revision}); !errors.Is(err, job.ErrConflict) {
		t.Errorf("put at a stale revision: got %v, want ErrConflict", err)
	}
	if _, _, err = c.PutJob(ctx, "backup", spec, api.Precondition{}); !errors.Is(err, job.ErrConflict) || !strings.Contains(err.Error(), "jobs.yaml") {
		t.Errorf("put of a file's job: got %v, want ErrConflict naming the file", err)
	}
	check("delete", true, c.DeleteJob(ctx, "new", api.Precondition{Exists: true}), nil)
	if _, err := c.Job(ctx, "bakup"); !errors.Is(err, job.ErrNotFound) || !strings.Contains(err.Error(), `did you mean "backup"?`) {
		t.Errorf("unknown job: got %v, want ErrNotFound with a suggestion", err)
	}

	paused, err := c.PauseJob(ctx, "backup", "moving")
	check("pause", paused.Paused != nil && paused.Paused.Reason == "moving", err, paused)
	paused, err = c.ResumeJob(ctx, "backup", "")
	check("resume", paused.Paused == nil, err, paused)
	gate, err := c.PauseAll(ctx, "moving")
	check("pause all", gate.Paused != nil, err, gate)
	gate, err = c.ResumeAll(ctx, "")
	check("resume all", gate.Paused == nil, err, gate)

	first, created, err := c.Submit(ctx, "backup", api.RunRequest{Key: `k "1" é`, In: "1h"})
	check("submit", created && first.Key == `k "1" é`, err, first)
	again, created, err := c.Submit(ctx, "backup", api.RunRequest{Key: `k "1" é`, In: "1h"})
	check("submit again", !created && again.Ref == first.Ref, err, again)
	command, created, err := c.SubmitCommand(ctx, api.AdHocRequest{Command: []string{"true"}, Timeout: job.Duration(time.Minute)})
	check("submit a command", created && command.Run.Job == job.AdHoc && command.Spec.Timeout == job.Duration(time.Minute), err, command)
	canceled, err := c.Cancel(ctx, first.Ref, "no")
	check("cancel", canceled.State == job.Canceled && canceled.Reason == "no", err, canceled)
	retried, err := c.Retry(ctx, done.Name())
	check("retry", retried.RetryOf == done.Name(), err, retried)
	if _, err := c.Run(ctx, "backup"); err == nil {
		t.Error("a run's name without an id is accepted")
	}

	restored, err := c.AcceptRestored(ctx)
	check("accept a restored store", restored.Era == 1 && restored.Cluster == "abc", err, restored)

	var all []string
	for r, err := range c.AllRuns(ctx, client.RunFilter{Limit: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r.Ref)
	}
	if len(all) != 4 {
		t.Errorf("all runs: got %v, want 4", all)
	}

	out, err := c.Logs(ctx, done.Name(), 1, false)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	text, err := io.ReadAll(out)
	check("logs", string(text) == "out of space\n", err, string(text))

	for e, err := range c.Events(ctx, client.EventFilter{After: 102, Kinds: []string{api.KindRun}}) {
		var r api.RunView
		check("event", e.Revision == 103 && json.Unmarshal(e.Value, &r) == nil && r.Ref == done.Name(), err, e)
		break
	}
	until(t, "the end of the watch", func() bool { return f.watching() == 0 })
}

func TestWait(t *testing.T) {
	f := newFake()
	r := f.putRun(job.Run{Job: "backup", ID: "r1", State: job.Running})
	srv := serve(t, f.backend())
	c, err := client.New(client.Config{Servers: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	type result struct {
		run api.RunView
		err error
	}
	wait := func() <-chan result {
		ended := make(chan result, 1)
		go func() {
			v, err := c.Wait(t.Context(), "backup/r1")
			ended <- result{v, err}
		}()
		return ended
	}

	first := wait()
	until(t, "the watch", func() bool { return f.watching() == 1 })
	f.change(func(f *fake) { f.putRun(job.Run{Job: "backup", ID: "r2", State: job.Failed}) })
	select {
	case got := <-first:
		t.Fatalf("another run's end ended it: %+v", got)
	default:
	}
	r.State = job.Succeeded
	f.change(func(f *fake) { f.putRun(r) })
	if got := <-first; got.err != nil || got.run.State != job.Succeeded {
		t.Errorf("got %s %v, want succeeded", got.run.State, got.err)
	}
	if got := <-wait(); got.err != nil || got.run.State != job.Succeeded {
		t.Errorf("a run that has ended: got %s %v, want succeeded", got.run.State, got.err)
	}
	if _, err := c.Wait(t.Context(), "backup/none"); !errors.Is(err, job.ErrNotFound) {
		t.Errorf("no run: got %v, want ErrNotFound", err)
	}
	until(t, "the end of the watch", func() bool { return f.watching() == 0 })
}
