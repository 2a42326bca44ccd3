package node

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/buffer"
	"github.com/rota-scheduler/rota/test/files"
	"github.com/rota-scheduler/rota/test/ports"
)

// TestARepeatedRequestFindsItsRun repeats requests with a key after what they refer to has changed, as a client does whose first
// answer was lost. Each of them finds the run that the first one made.
func TestARepeatedRequestFindsItsRun(t *testing.T) {
	t.Parallel()
	r := start(t, Config{Settings: settings(t, "q1"), Version: version})
	r.lead(t)
	r.put(t, "x", job.Spec{Shell: "true", Params: map[string]job.Param{"n": {}}})
	request := api.RunRequest{Key: "s", Params: map[string]json.RawMessage{"n": []byte(`"one"`)}}
	first := r.submit(t, "x", request)
	eventually(t, "the run has ended", func() bool {
		v, err := r.Run(t.Context(), first.Ref)
		return err == nil && v.State.Terminal()
	})
	retried, _, err := r.RetryOnce(t.Context(), first.Ref, "r")
	if err != nil {
		t.Fatal(err)
	}
	again := func(when string) {
		t.Helper()
		if v, created, err := r.RetryOnce(t.Context(), first.Ref, "r"); err != nil || created || v.Ref != retried.Ref {
			t.Errorf("%s: retry: got %s, created %t, %v; want %s", when, v.Ref, created, err, retried.Ref)
		}
		v, created, err := r.Submit(t.Context(), "x", request)
		if err != nil || created || v.Ref != first.Ref {
			t.Errorf("%s: submit: got %s, created %t, %v; want %s", when, v.Ref, created, err, first.Ref)
		}
		for _, key := range []string{"other", ""} {
			if _, _, err := r.RetryOnce(t.Context(), first.Ref, key); status(err) != 409 {
				t.Errorf("%s: a retry with the key %q: got %v, want that it is refused", when, key, err)
			}
		}
	}
	r.put(t, "x", job.Spec{Shell: "true", Params: map[string]job.Param{"n": {Enum: []string{"two"}, Default: new("two")}}})
	again("another value is allowed")
	if err := r.DeleteJob(t.Context(), "x", api.Precondition{}); err != nil {
		t.Fatal(err)
	}
	again("the job is deleted")
}

// TestChangesAtTheSameTime changes a job from many clients. Every change without a precondition succeeds. Several submissions
// with the same key create one run.
func TestChangesAtTheSameTime(t *testing.T) {
	t.Parallel()
	r := start(t, Config{Settings: settings(t, "q1"), Version: version})
	r.put(t, "x", job.Spec{Shell: "true"})
	var wg sync.WaitGroup
	var mu sync.Mutex
	made, refs := 0, map[string]bool{} // guarded by mu
	for i := range 8 {
		wg.Go(func() {
			if _, _, err := r.PutJob(t.Context(), "x", job.Spec{Shell: fmt.Sprint("echo ", i)}, api.Precondition{}); err != nil {
				t.Errorf("put: %v", err)
			}
		})
		wg.Go(func() {
			if _, err := r.PauseJob(t.Context(), "x", ""); err != nil {
				t.Errorf("pause: %v", err)
			}
			if _, err := r.ResumeJob(t.Context(), "x", ""); err != nil {
				t.Errorf("resume: %v", err)
			}
		})
		wg.Go(func() {
			v, created, err := r.Submit(t.Context(), "x", api.RunRequest{Key: "once"})
			if err != nil {
				t.Errorf("submit: %v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			refs[v.Ref] = true
			if created {
				made++
			}
		})
	}
	wg.Wait()
	if made != 1 || len(refs) != 1 {
		t.Errorf("one key made %d runs, called %v", made, refs)
	}
	if v, err := r.Job(t.Context(), "x"); err != nil || v.Generation < 2 {
		t.Errorf("got %+v, %v", v, err)
	}
}

// TestDifferentFilesAtTheSameTime puts two sets of files in force at the same time. At the end, the store has all jobs of one
// set, and no job of the other.
func TestDifferentFilesAtTheSameTime(t *testing.T) {
	t.Parallel()
	etcd := etcd(t)
	want := map[string]string{} // by the name of a replica: the jobs if its files are in force
	nodes := make([]*running, 2)
	for i := range nodes {
		name, path := fmt.Sprint("q", i+1), filepath.Join(t.TempDir(), "jobs.yaml")
		var names, jobs []string
		for k := range 40 {
			id := fmt.Sprintf("j%02d", k+20*i)
			names, jobs = append(names, id), append(jobs, id+"="+name)
		}
		want[name] = strings.Join(jobs, " ")
		files.Replace(t, path, files.Jobs(name, names...))
		set := outside(t, name, etcd)
		set.Jobs, set.Worker.Enabled = path, false
		nodes[i] = begin(t, Config{Settings: set, Version: version})
	}
	eventually(t, "one set is in force", func() bool {
		v, err := nodes[0].Cluster(t.Context())
		return err == nil && v.Files.By != "" && nodes[0].jobs(t) == want[v.Files.By]
	})
}

func TestAStopWhileEtcdHasNoMajority(t *testing.T) {
	t.Parallel()
	set := settings(t, "q1")
	set.Etcd.Embedded.Cluster = "q1=" + set.Etcd.Embedded.Peer + ",q2=http://" + ports.Addr(t)
	ctx, cancel := context.WithCancel(context.Background())
	log, done := &buffer.Buffer{}, make(chan error, 1)
	go func() { done <- Run(ctx, Config{Settings: set, Version: version}, logger(log)) }() // waited for below
	eventually(t, "it waits for the other", func() bool { return strings.Contains(log.String(), "waiting for other members") })
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("Run: %v", err)
		}
	case <-time.After(15 * time.Second):
		t.Fatal("Run does not return")
	}
}

// TestAKeyOfARunIsNoKeyOfItsWorkflow repeats a submission with the steps behind the job. They would never run.
func TestAKeyOfARunIsNoKeyOfItsWorkflow(t *testing.T) {
	t.Parallel()
	r := start(t, Config{Settings: settings(t, "q1"), Version: version})
	r.lead(t)
	r.define(t, map[string]job.Spec{"load": {Shell: "true"}})
	r.define(t, map[string]job.Spec{"report": {Shell: "true", After: []job.After{{Job: "load"}}}})
	submit := func(key string, workflow bool) (api.RunView, bool, error) {
		return r.Submit(t.Context(), "load", api.RunRequest{Key: key, Workflow: workflow})
	}
	if _, _, err := submit("alone", false); err != nil {
		t.Fatal(err)
	}
	if v, _, err := submit("alone", true); err == nil || !strings.Contains(err.Error(), "use a new key") {
		t.Errorf("got run %s, %v, want a refusal that asks for a new key", v.Ref, err)
	}
	first, created, err := submit("whole", true)
	if err != nil || !created {
		t.Fatalf("got created %t, %v", created, err)
	}
	if v, created, err := submit("whole", true); err != nil || created || v.Ref != first.Ref {
		t.Errorf("repeated: got run %s, created %t, %v, want %s", v.Ref, created, err, first.Ref)
	}
	step, _, err := r.Submit(t.Context(), "report", api.RunRequest{Key: "step"})
	if err != nil {
		t.Fatal(err)
	}
	before := r.node.store.Counts().Transactions
	if _, _, err := submit("step", true); err == nil || !strings.Contains(err.Error(), step.Ref) {
		t.Errorf("a step with the key ran before: got %v, want a refusal that names run %s", err, step.Ref)
	}
	if sent := r.node.store.Counts().Transactions - before; sent > 100 {
		t.Errorf("the refusal took %d transactions", sent)
	}
}
