package node

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/doctor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// A replica examines the cluster without a token for the other replicas, and says what it could not examine.
func TestAReplicaExaminesTheCluster(t *testing.T) {
	t.Parallel()
	endpoint := etcd(t)
	q1 := start(t, Config{Settings: outside(t, "q1", endpoint), Version: version})
	q2 := start(t, Config{Settings: outside(t, "q2", endpoint), Version: version})
	q1.define(t, map[string]job.Spec{"alien": {Shell: "true", Workers: map[string]string{"zone": "absent"}}})
	eventually(t, "q1 has measured the clock of q2", func() bool {
		v, err := q1.Cluster(t.Context())
		return err == nil && len(v.Clocks) == 1
	})
	v, err := q1.Doctor(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"etcd", "replicas", "clocks", "versions", "files", "records", "jobs", "workers", "machine", "settings"}
	if v.Node != "q1" || !slices.Equal(v.Examined, want) || !slices.Contains(v.Skipped, "machine, settings of q2: each process examines only its own") {
		t.Errorf("examined %v by %s, skipped %q", v.Examined, v.Node, v.Skipped)
	}
	for _, f := range v.Findings {
		if f.Area == doctor.AreaEtcd || f.Area == doctor.AreaReplicas || f.Area == doctor.AreaClocks || f.Area == doctor.AreaRecords {
			t.Errorf("a healthy cluster: found %+v", f)
		}
	}
	finds := func(area, subject, text string) {
		t.Helper()
		v, err := q1.Doctor(t.Context())
		if err != nil || !slices.ContainsFunc(v.Findings, func(f doctor.Finding) bool {
			return f.Area == area && strings.Contains(f.Subject, subject) && strings.Contains(f.Text, text) && f.Do != ""
		}) {
			t.Errorf("it does not find %s, %s: %s; got %+v, %v", area, subject, text, v, err)
		}
	}
	finds("jobs", "alien", "")

	q1.garble(t, "/rota/limits/broken")
	finds("records", "/rota/limits/broken", "unreadable")
	lease, err := q1.node.client.Grant(t.Context(), 300)
	if err != nil {
		t.Fatal(err)
	}
	for name, addr := range map[string]string{"absent": "127.0.0.1:1", "elsewhere": q2.node.set.HTTP.Listen} {
		text, err := json.Marshal(job.Replica{Name: name, Addr: addr, Version: "v0-test"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := q1.node.client.Put(t.Context(), "/rota/replicas/"+name, string(text), clientv3.WithLease(lease.ID)); err != nil {
			t.Fatal(err)
		}
	}
	finds("replicas", "absent", "does not answer here at 127.0.0.1:1")
	finds("replicas", "elsewhere", "q2 answers at "+q2.node.set.HTTP.Listen)
}

func TestAReplicaVerifiesTheStore(t *testing.T) {
	t.Parallel()
	r := start(t, Config{Settings: settings(t, "q1"), Version: version})
	r.lead(t)
	r.define(t, map[string]job.Spec{"once": {Shell: "true"}})
	run, _, err := r.Submit(t.Context(), "once", api.RunRequest{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the run has ended", func() bool {
		v, err := r.Run(t.Context(), run.Ref)
		return err == nil && v.State == job.Succeeded
	})
	v, err := r.Verify(t.Context())
	if err != nil || v.Jobs != 1 || v.Runs != 1 || v.Changes == 0 || v.Revision == 0 || len(v.Violations) != 0 {
		t.Errorf("got %+v, %v", v, err)
	}
	if next, text := r.send(t, "/do/verify", nil); next != "" || !strings.Contains(text, "No invariant is broken.") {
		t.Errorf("the page: got %q, %.2000s", next, text)
	}
	if next, text := r.send(t, "/do/doctor", nil); next != "" || !strings.Contains(text, "Replica q1 examined: etcd, replicas,") {
		t.Errorf("the page: got %q, %.2000s", next, text)
	}
	_, err = r.Import(t.Context(), api.ImportRequest{Kind: "crontab", Text: "@reboot x"})
	if problem, ok := errors.AsType[*client.Error](err); !ok || problem.Status != http.StatusUnprocessableEntity {
		t.Errorf("an import without a job: got %v", err)
	}
}
