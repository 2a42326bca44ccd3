package node

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/verify"
	"github.com/rota-scheduler/rota/test/buffer"
	"github.com/rota-scheduler/rota/test/ports"
)

func (r *running) put(t testing.TB, name string, spec job.Spec) api.JobView {
	t.Helper()
	v, _, err := r.PutJob(t.Context(), name, spec, api.Precondition{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (r *running) submit(t testing.TB, name string, request api.RunRequest) api.RunView {
	t.Helper()
	v, _, err := r.Submit(t.Context(), name, request)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// ends waits until a run has ended, and checks that its state is want.
func (r *running) ends(t testing.TB, run string, want job.State) api.RunView {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	v, err := r.Wait(ctx, run)
	if err != nil || v.State != want {
		t.Fatalf("run %s: got %s (%s), %v; want %s", run, v.State, v.Reason, err, want)
	}
	return v
}

// reaches waits until a run has the state want.
func (r *running) reaches(t testing.TB, run string, want job.State) {
	t.Helper()
	eventually(t, run+" is "+string(want), func() bool {
		v, err := r.Run(t.Context(), run)
		return err == nil && v.State == want
	})
}

func (r *running) output(t testing.TB, run string, attempt int, follow bool) string {
	t.Helper()
	out, err := r.Logs(t.Context(), run, attempt, follow)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	text, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// sound checks the invariants on the records in the store.
func (r *running) sound(t testing.TB) verify.Report {
	t.Helper()
	records, rev, err := r.node.store.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, log, err := r.node.store.Log(t.Context(), rev, math.MaxInt)
	if err != nil {
		t.Fatal(err)
	}
	report := verify.Check(verify.Input{Records: records, Log: log, Now: time.Now()})
	for _, v := range report.Violations {
		t.Errorf("invariant %d is broken: %s at revision %d: %s", v.Invariant, v.Subject, v.Revision, v.Text)
	}
	return report
}

// status returns the HTTP status of an error answer; 0 if err is nil.
func status(err error) int {
	if answer, ok := errors.AsType[*client.Error](err); ok {
		return answer.Status
	}
	return 0
}

func TestAWorkerBesideAReplica(t *testing.T) {
	t.Parallel()
	set := settings(t, "q1")
	set.Worker.Enabled = false
	q1 := start(t, Config{Settings: set, Version: version})
	q1.put(t, "talk", job.Spec{Shell: "echo said"})

	v := q1.submit(t, "talk", api.RunRequest{})
	eventually(t, "the run waits for a worker", func() bool {
		v, err := q1.Run(t.Context(), v.Ref)
		return err == nil && strings.Contains(v.Reason, "no worker")
	})
	ws := outside(t, "w1", set.Etcd.Embedded.Client)
	w1 := start(t, Config{Role: WorkerOnly, Settings: ws}) // as a program of a user
	q1.ends(t, v.Ref, job.Succeeded)

	t.Run("it has the version of rota", func(t *testing.T) {
		workers, err := q1.Workers(t.Context())
		if err != nil || len(workers) != 1 || workers[0].Version != BuiltVersion().Version {
			t.Errorf("got %+v, %v; want version %s", workers, err, BuiltVersion().Version)
		}
	})
	t.Run("output comes from the worker", func(t *testing.T) {
		for _, follow := range []bool{false, true} {
			if got := q1.output(t, v.Ref, 0, follow); got != "said\n" {
				t.Errorf("follow %t: got %q", follow, got)
			}
		}
		if got := w1.output(t, v.Ref, 1, false); got != "said\n" {
			t.Errorf("from the worker itself: got %q", got)
		}
	})
	t.Run("a worker serves nothing else", func(t *testing.T) {
		if _, err := w1.Cluster(t.Context()); status(err) != 404 {
			t.Errorf("cluster: got %v, want 404", err)
		}
	})
	t.Run("a worker that is gone", func(t *testing.T) {
		long := q1.submit(t, "talk", api.RunRequest{})
		q1.ends(t, long.Ref, job.Succeeded)
		q1.put(t, "chatty", job.Spec{Shell: "seq 1 5000"})
		much := q1.ends(t, q1.submit(t, "chatty", api.RunRequest{}).Ref, job.Succeeded)
		if err := w1.end(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the worker is gone", func() bool {
			workers, err := q1.Workers(t.Context())
			return err == nil && len(workers) == 0
		})
		if got := q1.output(t, long.Ref, 0, false); got != "said\n" {
			t.Errorf("short output: got %q, want what the record has", got)
		}
		if _, err := q1.Logs(t.Context(), much.Ref, 0, false); status(err) != 503 {
			t.Errorf("long output: got %v, want 503", err)
		}
	})
	q1.sound(t)
}

func TestEventsGoOnWhereTheyBroke(t *testing.T) {
	t.Parallel()
	r := start(t, Config{Settings: settings(t, "q1"), Version: version})
	r.lead(t)
	r.put(t, "x", job.Spec{Shell: "true"})
	c, err := r.Cluster(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	run := r.ends(t, r.submit(t, "x", api.RunRequest{}).Ref, job.Succeeded)
	read := func(after int64, until func(api.Event) bool) (events []api.Event) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		for e, err := range r.Events(ctx, client.EventFilter{After: after}) {
			if err != nil {
				t.Fatal(err)
			}
			if events = append(events, e); until(e) {
				return events
			}
		}
		return events
	}
	states := func(events []api.Event) (s []string) {
		for _, e := range events {
			var v api.RunView
			if e.Kind == api.KindRun && e.Name == run.Ref && json.Unmarshal(e.Value, &v) == nil {
				s = append(s, string(v.State))
			}
		}
		return s
	}
	ended := func(e api.Event) bool { return e.Kind == api.KindRun && e.Revision == run.Revision }
	all := read(c.Store.Revision, ended)
	if got := strings.Join(states(all), " "); !strings.HasSuffix(got, "running succeeded") {
		t.Errorf("from before the run: got %s", got)
	}
	if got := states(read(run.Revision-1, ended)); len(got) != 1 {
		t.Errorf("from just before its end: got %v, want only the end", got)
	}
	if e := read(run.Revision+1_000_000, func(api.Event) bool { return true }); e[0].Kind != api.KindReset {
		t.Errorf("from a revision that never was: got %+v, want a reset", e[0])
	}
	if _, err := r.node.client.Compact(t.Context(), run.Revision); err != nil {
		t.Fatal(err)
	}
	if e := read(1, func(api.Event) bool { return true }); e[0].Kind != api.KindReset {
		t.Errorf("from a revision that is compacted: got %+v, want a reset", e[0])
	}
}

func TestWithoutEtcd(t *testing.T) {
	t.Parallel()
	set := outside(t, "q1", "http://"+ports.Addr(t))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	log := &buffer.Buffer{}
	go func() { done <- Run(ctx, Config{Settings: set, Version: version}, logger(log)) }() // waited for below
	c, err := client.New(client.Config{Servers: "http://" + set.HTTP.Listen})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	eventually(t, "the API answers", func() bool {
		text, ready, err := c.Ready(t.Context())
		return err == nil && !ready && strings.Contains(text, "etcd has not answered yet")
	})
	for name, ask := range map[string]func() error{
		"cluster": func() error { _, err := c.Cluster(t.Context()); return err },
		"jobs":    func() error { _, err := c.Jobs(t.Context()); return err },
		"submit":  func() error { _, _, err := c.Submit(t.Context(), "x", api.RunRequest{}); return err },
		"logs":    func() error { _, err := c.Logs(t.Context(), "x/y", 0, false); return err },
		"delete":  func() error { return c.DeleteJob(t.Context(), "x", api.Precondition{}) },
	} {
		if err := ask(); !errors.Is(err, api.ErrUnavailable) {
			t.Errorf("%s: got %v, want ErrUnavailable", name, err)
		}
	}
	resp, err := http.Get("http://" + set.HTTP.Listen + "/metrics")
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("metrics: got %v, %v", resp, err)
	} else {
		resp.Body.Close()
	}
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("Run: %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("Run does not return")
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestAStartThatFailsLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	set := settings(t, "q1")
	r := start(t, Config{Settings: set, Version: version})
	t.Run("its address is taken", func(t *testing.T) {
		other := settings(t, "q2")
		other.HTTP.Listen = set.HTTP.Listen
		if err := Run(t.Context(), Config{Settings: other}, logger(&buffer.Buffer{})); err == nil || !strings.Contains(err.Error(), "in use") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("its data is in use", func(t *testing.T) {
		other := outside(t, "q2", set.Etcd.Embedded.Client)
		other.Node.DataDir = set.Node.DataDir
		began := time.Now()
		if err := Run(t.Context(), Config{Settings: other}, logger(&buffer.Buffer{})); !IsConfig(err) || !strings.Contains(err.Error(), set.Node.DataDir) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("it took %v", took)
		}
	})
	if _, err := r.Jobs(t.Context()); err != nil {
		t.Error(err)
	}
}
