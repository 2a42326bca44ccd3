package node

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func (r *running) pausesAllJobs(t *testing.T) {
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
}

func (r *running) refusesADefinition(t *testing.T) {
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
}

func (r *running) showsTheCluster(t *testing.T) {
	v, err := r.Cluster(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !v.Ready || v.Store.DBSize == 0 || v.Store.Quota == 0 || len(v.Store.Members) != 1 || v.Store.Members[0] != r.node.set.Etcd.Embedded.Client {
		t.Errorf("got %+v", v)
	}
	if v.Leader == nil || v.Leader.Addr != r.node.set.HTTP.Advertise || v.Leader.Since.IsZero() || len(v.Replicas) != 1 || !v.Replicas[0].Leader || v.Workers != 1 {
		t.Errorf("leader and replicas: got %+v, %+v", v.Leader, v.Replicas)
	}
	workers, err := r.Workers(t.Context())
	if err != nil || len(workers) != 1 || workers[0].Capacity != r.node.set.Worker.Capacity {
		t.Errorf("workers: got %+v, %v", workers, err)
	}
	for _, path := range []string{"/leader", "/livez", "/readyz", "/metrics"} {
		resp, err := http.Get("http://" + r.node.set.HTTP.Listen + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: got %s", path, resp.Status)
		}
	}
}

func (r *running) quarantinesGarbage(t *testing.T) {
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
}

func (r *running) keepsTheInvariants(t *testing.T) {
	if report := r.sound(t); report.Slots < 3 || report.Changes < 50 {
		t.Errorf("report: got %d slots and %d changes looked at", report.Slots, report.Changes)
	}
}

func (r *running) restarts(t *testing.T) {
	r.put(t, "after", job.Spec{Every: job.Duration(time.Second), Shell: "true", Missed: job.MissedAll})
	eventually(t, "a run has ended", func() bool {
		page, err := r.Runs(t.Context(), client.RunFilter{Job: "after", States: []job.State{job.Succeeded}}, "")
		return err == nil && len(page.Runs) > 0
	})
	if err := r.end(); err != nil {
		t.Fatalf("Run: %v", err)
	}
	next := start(t, Config{Settings: r.node.set, Version: version})
	last := time.Now().Truncate(time.Second)
	eventually(t, "slots after the start", func() bool {
		why, err := next.Explain(t.Context(), "after", last)
		return err == nil && strings.HasPrefix(why.Verdict, "ran")
	})
	next.sound(t)
}
