package node

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/verify"
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

// ends waits for a run to end in the wanted state.
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

// reaches waits for a run to be in the wanted state.
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

// sound proves the invariants on what the node has left in the store.
func (r *running) sound(t testing.TB) verify.Report {
	t.Helper()
	records, rev, err := r.node.store.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, log, err := r.node.store.Log(t.Context(), rev)
	if err != nil {
		t.Fatal(err)
	}
	report := verify.Check(verify.Input{Records: records, Log: log, Now: time.Now()})
	for _, v := range report.Violations {
		t.Errorf("invariant %d is broken: %s at revision %d: %s", v.Invariant, v.Subject, v.Revision, v.Text)
	}
	return report
}

func status(err error) int {
	var answer *client.Error
	if errors.As(err, &answer) {
		return answer.Status
	}
	return 0
}

func TestAReplicaOnItsOwn(t *testing.T) {
	t.Parallel()
	set := settings(t, "q1")
	r := start(t, Config{Settings: set, Version: version})
	r.lead(t)

	t.Run("slots run and leave a history", func(t *testing.T) {
		r.put(t, "tick", job.Spec{Every: job.Duration(time.Second), Command: []string{"echo", "hi"}})
		eventually(t, "three runs have succeeded", func() bool {
			page, err := r.Runs(t.Context(), client.RunFilter{Job: "tick", States: []job.State{job.Succeeded}}, "")
			return err == nil && len(page.Runs) >= 3
		})
		v, err := r.Job(t.Context(), "tick")
		if err != nil || v.Last == nil || v.Next == nil {
			t.Errorf("job: got %+v, %v; want a last and a next run", v, err)
		}
		if got := r.output(t, v.Last.Ref, 0, false); got != "hi\n" {
			t.Errorf("output: got %q", got)
		}
		next, err := r.Next(t.Context(), "tick", time.Time{}, 3)
		if err != nil || len(next.Slots) != 3 {
			t.Errorf("next: got %v, %v", next, err)
		}
		why, err := r.Explain(t.Context(), "tick", next.Slots[0].Add(-10*time.Minute))
		if err != nil || why.Verdict != "not scheduled" {
			t.Errorf("explain: got %+v, %v; want not scheduled", why, err)
		}
	})
	t.Run("a pause skips slots, and says so", func(t *testing.T) {
		if _, err := r.PauseJob(t.Context(), "tick", "test"); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		eventually(t, "a slot has passed", func() bool { return time.Since(began) > 2100*time.Millisecond })
		if _, err := r.ResumeJob(t.Context(), "tick", ""); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the skipped slots are written down", func() bool {
			why, err := r.Explain(t.Context(), "tick", began.Add(time.Second).Truncate(time.Second))
			return err == nil && why.Verdict == "skipped" && strings.Contains(why.Text[0], "paused")
		})
	})
	t.Run("of many who delete a job at once one has deleted it", func(t *testing.T) {
		for range 10 {
			if _, _, err := r.PutJob(t.Context(), "contested", job.Spec{Command: []string{"true"}}, api.Precondition{}); err != nil {
				t.Fatal(err)
			}
			answers := make(chan error)
			for range 8 {
				go func() { answers <- r.DeleteJob(t.Context(), "contested", api.Precondition{}) }()
			}
			deleted := 0
			for range 8 {
				switch err := <-answers; {
				case err == nil:
					deleted++
				case !errors.Is(err, job.ErrNotFound):
					t.Errorf("got %v, want ErrNotFound", err)
				}
			}
			if deleted != 1 {
				t.Fatalf("%d were told that they had deleted it, want one", deleted)
			}
		}
	})
	t.Run("a deleted job's runs stay and can be explained", func(t *testing.T) {
		var v api.JobView
		eventually(t, "a slot has run since the pause", func() bool {
			var err error
			v, err = r.Job(t.Context(), "tick")
			return err == nil && v.Last.State == job.Succeeded
		})
		if err := r.DeleteJob(t.Context(), "tick", api.Precondition{Revision: v.Revision - 1}); status(err) != 412 {
			t.Errorf("with an old revision: got %v, want 412", err)
		}
		if err := r.DeleteJob(t.Context(), "tick", api.Precondition{Revision: v.Revision}); err != nil {
			t.Fatal(err)
		}
		if err := r.DeleteJob(t.Context(), "tick", api.Precondition{}); !errors.Is(err, job.ErrNotFound) {
			t.Errorf("again: got %v, want ErrNotFound", err)
		}
		run, err := r.Run(t.Context(), v.Last.Ref)
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "it is explained", func() bool {
			why, err := r.Explain(t.Context(), "tick", run.Slot)
			return err == nil && strings.HasPrefix(why.Verdict, "ran")
		})
		if _, err := r.Retry(t.Context(), v.Last.Ref); status(err) != 409 {
			t.Errorf("retry: got %v, want 409", err)
		}
	})
	t.Run("a key makes a submission idempotent, job by job", func(t *testing.T) {
		r.put(t, "pay", job.Spec{Shell: `echo "$ROTA_PAYLOAD $ROTA_IDEMPOTENCY_KEY"`})
		r.put(t, "pay2", job.Spec{Shell: "true"})
		once := api.RunRequest{Key: "order-7", Payload: json.RawMessage(`{"n":1}`)}
		first := r.submit(t, "pay", once)
		again, created, err := r.Submit(t.Context(), "pay", once)
		if err != nil || created || again.Ref != first.Ref {
			t.Errorf("again: got %s %t %v, want %s once", again.Ref, created, err, first.Ref)
		}
		r.ends(t, first.Ref, job.Succeeded)
		if again := r.submit(t, "pay", once); again.Ref != first.Ref || again.State != job.Succeeded {
			t.Errorf("after its end: got %s %s", again.Ref, again.State)
		}
		if got := r.output(t, first.Ref, 1, true); got != "{\"n\":1} order-7\n" {
			t.Errorf("output: got %q", got)
		}
		if _, _, err := r.Submit(t.Context(), "pay", api.RunRequest{Key: "order-7", Payload: json.RawMessage(`{"n":2}`)}); status(err) != 422 {
			t.Errorf("other work: got %v, want 422", err)
		}
		if other := r.submit(t, "pay2", once); other.Ref == first.Ref {
			t.Errorf("another job: got the same run %s", other.Ref)
		}
	})
	t.Run("what was submitted for later waits, and can be canceled", func(t *testing.T) {
		v := r.submit(t, "pay", api.RunRequest{In: "1h"})
		if v.State != job.Pending || v.Reason == "" {
			t.Errorf("got %s (%s), want pending for a reason", v.State, v.Reason)
		}
		if v, err := r.Cancel(t.Context(), v.Ref, "no more"); err != nil || v.State != job.Canceled || v.Reason != "no more" {
			t.Errorf("cancel: got %+v, %v", v, err)
		}
		if _, err := r.Cancel(t.Context(), v.Ref, ""); status(err) != 409 {
			t.Errorf("cancel again: got %v, want 409", err)
		}
	})
	t.Run("a running run is killed", func(t *testing.T) {
		r.put(t, "slow", job.Spec{Shell: "echo begun; sleep 60"})
		v := r.submit(t, "slow", api.RunRequest{})
		r.reaches(t, v.Ref, job.Running)
		if _, err := r.Retry(t.Context(), v.Ref); status(err) != 409 {
			t.Errorf("retry while it runs: got %v, want 409", err)
		}
		out, err := r.Logs(t.Context(), v.Ref, 0, true)
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		if _, err := r.Cancel(t.Context(), v.Ref, ""); err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(out); err != nil || !strings.HasPrefix(string(text), "begun\n") {
			t.Errorf("followed output: got %q, %v", text, err)
		}
		r.ends(t, v.Ref, job.Canceled)
	})
	t.Run("a retry is a new run that names the old one", func(t *testing.T) {
		r.put(t, "fails", job.Spec{Shell: "exit 3"})
		old := r.ends(t, r.submit(t, "fails", api.RunRequest{}).Ref, job.Failed)
		v, err := r.Retry(t.Context(), old.Ref)
		if err != nil || v.RetryOf != old.Ref || v.Ref == old.Ref {
			t.Errorf("got %+v, %v", v, err)
		}
		if v.State == job.Pending && v.Reason == "" {
			t.Error("it does not say why it waits")
		}
		r.ends(t, v.Ref, job.Failed)
	})
	t.Run("a command without a job", func(t *testing.T) {
		v, _, err := r.SubmitCommand(t.Context(), api.AdHocRequest{Command: []string{"echo", "ad hoc"}})
		if err != nil {
			t.Fatal(err)
		}
		if v.State == job.Pending && v.Reason == "" {
			t.Error("it does not say why it waits")
		}
		r.ends(t, v.Ref, job.Succeeded)
		if got := r.output(t, v.Ref, 0, false); got != "ad hoc\n" {
			t.Errorf("output: got %q", got)
		}
		again, err := r.Retry(t.Context(), v.Ref)
		if err != nil {
			t.Fatal(err)
		}
		r.ends(t, again.Ref, job.Succeeded)
	})
	t.Run("a payload that no variable takes is refused", func(t *testing.T) {
		large := api.RunRequest{Payload: json.RawMessage(`"` + strings.Repeat("x", job.MaxToldPayload-1) + `"`)}
		_, _, submitted := r.Submit(t.Context(), "pay", large)
		_, _, adHoc := r.SubmitCommand(t.Context(), api.AdHocRequest{Command: []string{"true"}, RunRequest: large})
		_, _, put := r.PutJob(t.Context(), "pay3", job.Spec{Shell: "true", Payload: large.Payload}, api.Precondition{})
		for what, err := range map[string]error{"submitted": submitted, "without a job": adHoc, "put": put} {
			if status(err) != 422 || !strings.Contains(err.Error(), "Linux takes no more") {
				t.Errorf("%s: got %v, want 422 and why", what, err)
			}
		}
	})
	t.Run("changes of clocks are told as far as slots are listed", func(t *testing.T) {
		r.put(t, "yearly", job.Spec{Schedule: []string{"30 2 26 3 *"}, Timezone: "Europe/Berlin", Shell: "true"})
		v, err := r.Next(t.Context(), "yearly", time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC), 3)
		if err != nil || !strings.Contains(strings.Join(v.Notes, "\n"), "2028-03-26: the clock in Europe/Berlin") {
			t.Errorf("got %+v, %v, want a note on the second slot", v, err)
		}
	})
	t.Run("output that is not there", func(t *testing.T) {
		v := r.submit(t, "pay", api.RunRequest{})
		r.ends(t, v.Ref, job.Succeeded)
		if _, err := r.Logs(t.Context(), v.Ref, 7, false); !errors.Is(err, job.ErrNotFound) {
			t.Errorf("no such attempt: got %v, want ErrNotFound", err)
		}
		v = r.submit(t, "pay", api.RunRequest{In: "1h"})
		if _, err := r.Logs(t.Context(), v.Ref, 0, false); !errors.Is(err, job.ErrNotFound) {
			t.Errorf("no attempt: got %v, want ErrNotFound", err)
		}
		if _, err := r.Logs(t.Context(), "pay/none", 0, true); !errors.Is(err, job.ErrNotFound) {
			t.Errorf("no run: got %v, want ErrNotFound", err)
		}
	})
	t.Run("all jobs paused", func(t *testing.T) {
		if _, err := r.PauseAll(t.Context(), "upgrade"); err != nil {
			t.Fatal(err)
		}
		v := r.submit(t, "pay", api.RunRequest{})
		eventually(t, "the run says why it waits", func() bool {
			v, err := r.Run(t.Context(), v.Ref)
			return err == nil && v.Reason == "paused"
		})
		if c, err := r.Cluster(t.Context()); err != nil || c.Paused == nil || c.Paused.Reason != "upgrade" || !strings.HasPrefix(c.Paused.By, "tester") {
			t.Errorf("cluster: got %+v, %v", c.Paused, err)
		}
		if _, err := r.ResumeAll(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		r.ends(t, v.Ref, job.Succeeded)
	})
	t.Run("a definition that makes no sense is refused by its fields", func(t *testing.T) {
		_, _, err := r.PutJob(t.Context(), "bad", job.Spec{
			Schedule: []string{"* * * * *", "61 * * * *"}, Timezone: "Europe/Berln", Shell: "true", Retry: &job.Retry{Max: -2},
			Env: map[string]string{"ROTA_JOB": "x"},
		}, api.Precondition{})
		var answer *client.Error
		if !errors.As(err, &answer) || answer.Status != 422 {
			t.Fatalf("got %v, want 422", err)
		}
		var fields []string
		for _, f := range answer.Fields {
			fields = append(fields, f.Location)
		}
		got := strings.Join(fields, " ")
		for _, want := range []string{"body.schedule[1]", "body.timezone", "body.retry.max", "body.env.ROTA_JOB"} {
			if !strings.Contains(got, want) {
				t.Errorf("fields: got %s, want %s", got, want)
			}
		}
	})
	t.Run("the cluster", func(t *testing.T) {
		v, err := r.Cluster(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !v.Ready || v.Store.DBSize == 0 || v.Store.Quota == 0 || len(v.Store.Members) != 1 || v.Store.Members[0] != set.Etcd.Embedded.Client {
			t.Errorf("got %+v", v)
		}
		if v.Leader == nil || v.Leader.Addr != set.HTTP.Advertise || v.Leader.Since.IsZero() || len(v.Replicas) != 1 || !v.Replicas[0].Leader || v.Workers != 1 {
			t.Errorf("leader and replicas: got %+v, %+v", v.Leader, v.Replicas)
		}
		workers, err := r.Workers(t.Context())
		if err != nil || len(workers) != 1 || workers[0].Capacity != set.Worker.Capacity {
			t.Errorf("workers: got %+v, %v", workers, err)
		}
		for _, path := range []string{"/leader", "/livez", "/readyz", "/metrics"} {
			resp, err := http.Get("http://" + set.HTTP.Listen + path)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != 200 {
				t.Errorf("%s: got %s", path, resp.Status)
			}
		}
	})
	t.Run("garbage put by hand is set aside and shown", func(t *testing.T) {
		keys := map[string]string{"/rota/jobs/garbage": "{", "/rota/runs/pay/x": "[]", "/rota/strange": "", "/rota/cursors/pay": "0"}
		for key, value := range keys {
			if _, err := r.node.client.Put(t.Context(), key, value); err != nil {
				t.Fatal(err)
			}
		}
		j, err := r.node.store.Job(t.Context(), "pay2")
		if err != nil {
			t.Fatal(err)
		}
		j.Spec.Schedule = []string{"never"}
		if _, err := r.node.store.PutJob(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		eventually(t, "five keys are set aside", func() bool {
			v, err := r.Cluster(t.Context())
			return err == nil && len(v.Quarantined) == 5 && v.Ready
		})
		if _, err := r.Next(t.Context(), "pay2", time.Time{}, 1); status(err) != 409 {
			t.Errorf("next: got %v, want 409", err)
		}
		if why, err := r.Explain(t.Context(), "pay2", time.Now()); err != nil || why.Verdict != "no slots" {
			t.Errorf("explain: got %+v, %v", why, err)
		}
		r.ends(t, r.submit(t, "pay", api.RunRequest{}).Ref, job.Succeeded)
		for key := range keys {
			if _, err := r.node.client.Delete(t.Context(), key); err != nil {
				t.Fatal(err)
			}
		}
		r.put(t, "pay2", job.Spec{Shell: "true"})
		eventually(t, "nothing is set aside", func() bool {
			v, err := r.Cluster(t.Context())
			return err == nil && len(v.Quarantined) == 0
		})
	})
	t.Run("the invariants hold", func(t *testing.T) {
		if report := r.sound(t); report.Slots < 3 || report.Changes < 50 {
			t.Errorf("report: got %d slots and %d changes looked at", report.Slots, report.Changes)
		}
	})
	t.Run("a new process goes on with the same data", func(t *testing.T) {
		r.put(t, "after", job.Spec{Every: job.Duration(time.Second), Shell: "true", Missed: job.MissedAll})
		eventually(t, "a run has ended", func() bool {
			page, err := r.Runs(t.Context(), client.RunFilter{Job: "after", States: []job.State{job.Succeeded}}, "")
			return err == nil && len(page.Runs) > 0
		})
		if err := r.end(); err != nil {
			t.Fatalf("Run: %v", err)
		}
		r := start(t, Config{Settings: set, Version: version})
		last := time.Now().Truncate(time.Second)
		eventually(t, "slots after the start", func() bool {
			why, err := r.Explain(t.Context(), "after", last)
			return err == nil && strings.HasPrefix(why.Verdict, "ran")
		})
		r.sound(t)
	})
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
	w1 := start(t, Config{Role: WorkerOnly, Settings: ws, Version: version})
	q1.ends(t, v.Ref, job.Succeeded)

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
	log := &logBuffer{}
	go func() { done <- Run(ctx, Config{Settings: set, Version: version}, logger(log)) }() // awaited below
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
	if err != nil || resp.StatusCode != 200 {
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
		if err := Run(t.Context(), Config{Settings: other}, logger(&logBuffer{})); err == nil || !strings.Contains(err.Error(), "in use") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("its data is in use", func(t *testing.T) {
		other := outside(t, "q2", set.Etcd.Embedded.Client)
		other.Node.DataDir = set.Node.DataDir
		began := time.Now()
		if err := Run(t.Context(), Config{Settings: other}, logger(&logBuffer{})); !IsConfig(err) || !strings.Contains(err.Error(), set.Node.DataDir) {
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
