package node

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// pretend writes the record of a worker at addr with a lease, as if the worker existed.
func (r *running) pretend(t testing.TB, name, addr string) {
	t.Helper()
	lease, err := r.node.client.Grant(t.Context(), 60)
	if err != nil {
		t.Fatal(err)
	}
	w := job.Worker{Name: name, Session: "1", Addr: addr, Capacity: 1, Started: time.Now().UTC()}
	text, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.node.client.Put(t.Context(), "/rota/workers/"+name, string(text), clientv3.WithLease(lease.ID)); err != nil {
		t.Fatal(err)
	}
	eventually(t, name+" is there", func() bool {
		workers, err := r.Workers(t.Context())
		return err == nil && len(workers) == 1
	})
}

func TestOutputIsFollowedBeforeTheAttemptStarts(t *testing.T) {
	t.Parallel()
	r := start(t, Config{Settings: settings(t, "q1"), Version: version})
	r.lead(t)
	r.put(t, "talk", job.Spec{Shell: "echo begun; sleep 0.5; echo ended"})
	v := r.submit(t, "talk", api.RunRequest{In: "1500ms"})
	r.reaches(t, v.Ref, job.Armed)
	if got := r.output(t, v.Ref, 0, true); got != "begun\nended\n" {
		t.Errorf("got %q, want all that it prints", got)
	}
}

func TestOutputOfARunThatNeverStarted(t *testing.T) {
	t.Parallel()
	r := start(t, Config{Settings: settings(t, "q1"), Version: version})
	r.lead(t)
	r.put(t, "talk", job.Spec{Shell: "echo begun"})
	v := r.submit(t, "talk", api.RunRequest{In: "1h"})
	missing := func(why string) {
		t.Helper()
		_, err := r.Logs(t.Context(), v.Ref, 0, false)
		if !errors.Is(err, job.ErrNotFound) || !strings.Contains(err.Error(), why) || strings.HasSuffix(err.Error(), ": not found") {
			t.Errorf("got %v, want a sentence with %q that matches ErrNotFound", err, why)
		}
	}
	missing("has no attempt yet")
	if _, err := r.Cancel(t.Context(), v.Ref, "not now"); err != nil {
		t.Fatal(err)
	}
	r.ends(t, v.Ref, job.Canceled)
	missing("was canceled and never began (")
}

// TestOutputOfAWorkerThatFallsSilent reads from a worker that is paused. Such a worker sends nothing more, and does not close the
// connection.
func TestOutputOfAWorkerThatFallsSilent(t *testing.T) {
	t.Parallel()
	silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		io.WriteString(w, "begun\n")
		http.NewResponseController(w).Flush()
		<-req.Context().Done()
	}))
	defer silent.Close()
	set := settings(t, "q1")
	set.Worker.Enabled = false
	r := start(t, Config{Settings: set, Version: version})
	r.lead(t)
	r.put(t, "talk", job.Spec{Shell: "echo begun"})
	r.pretend(t, "w1", strings.TrimPrefix(silent.URL, "http://"))
	v := r.submit(t, "talk", api.RunRequest{})
	r.reaches(t, v.Ref, job.Armed)
	out, err := r.Logs(t.Context(), v.Ref, 0, true)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if _, err := r.Cancel(t.Context(), v.Ref, ""); err != nil {
		t.Fatal(err)
	}
	r.ends(t, v.Ref, job.Canceled)
	began := time.Now()
	text, err := io.ReadAll(out)
	if took := time.Since(began); string(text) != "begun\n" || err == nil || took < 5*time.Second {
		t.Errorf("got %q, %v after %v, want what came, and that it is not all", text, err, took)
	}
}

// TestAWorkerAddressThatLeadsBackIsRefused registers a worker on another machine with a loopback address. Such an address leads
// the replica to itself.
func TestAWorkerAddressThatLeadsBackIsRefused(t *testing.T) {
	t.Parallel()
	set := settings(t, "q1")
	set.Worker.Enabled = false
	port := set.HTTP.Listen[strings.LastIndex(set.HTTP.Listen, ":"):]
	set.HTTP.Advertise = "localhost" + port
	r := start(t, Config{Settings: set, Version: version})
	r.lead(t)
	r.put(t, "talk", job.Spec{Shell: "echo said"})
	r.pretend(t, "w1", "127.0.0.1"+port)
	v := r.submit(t, "talk", api.RunRequest{})
	r.reaches(t, v.Ref, job.Armed)
	for _, follow := range []bool{false, true} {
		began := time.Now()
		_, err := r.Logs(t.Context(), v.Ref, 0, follow)
		if took := time.Since(began); status(err) != 503 || !strings.Contains(err.Error(), "worker w1 is not at this address, q1 is") || took > 5*time.Second {
			t.Errorf("follow %t: got %v after %v, want a refusal that says why, at once", follow, err, took)
		}
	}
	if _, err := r.Cancel(t.Context(), v.Ref, ""); err != nil {
		t.Fatal(err)
	}
}
