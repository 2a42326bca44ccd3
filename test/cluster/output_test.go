package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestOutputOutlivesItsWorker removes the disk of a worker after a run: its output is still complete. While the shared directory is
// away, runs end as before, the worker says so, and their output is uploaded later.
func TestOutputOutlivesItsWorker(t *testing.T) {
	row(t)
	t.Parallel()
	shared := filepath.Join(t.TempDir(), "output")
	if err := os.Mkdir(shared, 0o700); err != nil {
		t.Fatal(err)
	}
	store := "--output-store=" + shared
	c := Start(t, Config{
		Binary: binary, Flags: func(string) []string { return []string{store, "--worker-enabled=false"} },
		Jobs: map[string]job.Spec{"print": {Shell: "for i in $(seq 5000); do echo line $i; done; echo the end"}},
	})
	w := c.AddWorker("w1", store)
	print := func() (run string) {
		t.Helper()
		v, _, err := c.Client.Submit(t.Context(), "print", api.RunRequest{})
		if err != nil {
			t.Fatal(err)
		}
		Await(t, 20*time.Second, "the run succeeds", func() bool {
			r, err := c.Client.Run(t.Context(), v.Ref)
			return err == nil && r.State == job.Succeeded
		})
		return v.Ref
	}
	complete := func(run string) bool {
		out, code := Command(t, binary, "logs", run, "--server="+c.Replicas()[0].URL)
		return code == 0 && strings.HasPrefix(out, "line 1\n") && strings.Count(out, "\n") == 5001 && strings.HasSuffix(out, "the end\n")
	}
	files := func() (n int) {
		found, err := filepath.Glob(filepath.Join(shared, "print", "*.1.out"))
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}

	first := print()
	Await(t, 20*time.Second, "the output is uploaded", func() bool { return files() == 1 })
	w.Kill()
	if err := os.RemoveAll(filepath.Join(c.Dir, "w1")); err != nil {
		t.Fatal(err)
	}
	Await(t, 40*time.Second, "the output is complete without its worker", func() bool { return complete(first) })

	if err := os.Rename(shared, shared+".away"); err != nil {
		t.Fatal(err)
	}
	w.Start()
	second := print()
	Await(t, 20*time.Second, "the worker says that the store is away", func() bool {
		return w.Metric("rota_output_store_failing") == 1 && w.Metric("rota_output_waiting") == 1
	})
	Await(t, 20*time.Second, "rota status names the worker", func() bool {
		out, _ := Command(t, binary, "status", "--server="+c.Replicas()[0].URL)
		return strings.Contains(out, "Worker w1 cannot upload output")
	})
	third := print()
	if !complete(second) || !complete(third) {
		t.Error("the worker does not serve its own output")
	}
	w.Kill() // the next process of the worker uploads what waits
	if err := os.Rename(shared+".away", shared); err != nil {
		t.Fatal(err)
	}
	w.Start()
	Await(t, 60*time.Second, "the output that waited is uploaded", func() bool { return files() == 3 })
	w.Kill()
	if err := os.RemoveAll(filepath.Join(c.Dir, "w1")); err != nil {
		t.Fatal(err)
	}
	for _, run := range []string{first, second, third} {
		Await(t, 40*time.Second, "the output of "+run+" is complete", func() bool { return complete(run) })
	}
}
