package containers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/cluster"
	"github.com/rota-scheduler/rota/test/files"
)

// TestAWorkerIsKilledWhileAContainerRuns kills a worker with its nanny while containers execute, and starts it again. One run is
// adopted, and one may not be repeated. Each container worked once, and each outcome is recorded once.
func TestAWorkerIsKilledWhileAContainerRuns(t *testing.T) {
	d := startEngine(t)
	rota, err := cluster.Program(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	secret := files.Write(t, filepath.Join(t.TempDir(), "pin"), "s3cret-pin")
	ledger := t.TempDir()
	spec := func(steps ...string) job.Spec {
		return job.Spec{
			Env: map[string]string{"PIN": "${file:" + secret + "}"},
			Container: &job.Container{
				Image: toyImage, Network: "none", Volumes: []string{ledger + ":/ledger"}, Command: steps,
			},
		}
	}
	again := spec("note:/ledger/again", "sleep:10s", "env:PIN", "say:done", "output:rows=7")
	once := spec("note:/ledger/once", "sleep:5m")
	once.Delivery = job.AtMostOnce
	c := cluster.Start(t, cluster.Config{
		Binary: rota, Replicas: 1, Jobs: map[string]job.Spec{"again": again, "once": once},
		Flags: func(string) []string { return []string{"--worker-enabled=false"} },
	})
	w := c.AddWorker("w1", "--worker-kinds=container", "--worker-container-socket="+d.socket, "--worker-refs-files="+secret,
		"--worker-container-volumes="+ledger)
	server := "--server=" + c.Replicas()[0].URL
	for _, name := range []string{"again", "once"} {
		if out, code := cluster.Command(t, rota, "run", name, server); code != 0 {
			t.Fatalf("got %d and %q", code, out)
		}
	}
	cluster.Await(t, 30*time.Second, "both work", func() bool { return lines(ledger+"/again") == 1 && lines(ledger+"/once") == 1 })
	w.Kill()
	if n := len(d.running()); n != 2 {
		t.Fatalf("%d containers run after the worker was killed, want 2", n)
	}
	w.Start()
	ended := func(name string) (run job.Run) {
		cluster.Await(t, time.Minute, name+" ends", func() bool {
			runs := c.Recorder.Runs(name)
			for _, run = range runs {
			}
			return len(runs) == 1 && run.State.Terminal()
		})
		return run
	}
	r := ended("again")
	if r.State != job.Succeeded || r.Attempt != 2 || r.Outputs["rows"] != "7" {
		t.Errorf("again is %s in attempt %d with outputs %v: %s", r.State, r.Attempt, r.Outputs, r.Reason)
	}
	out, code := cluster.Command(t, rota, "logs", r.Name(), server)
	if code != 0 || !strings.Contains(out, "PIN=***\ndone\n") {
		t.Errorf("logs: %d, %q", code, out)
	}
	if r := ended("once"); r.State != job.Lost {
		t.Errorf("once is %s: %s", r.State, r.Reason)
	}
	cluster.Await(t, time.Minute, "all containers are removed", func() bool { return len(d.all()) == 0 })
	for _, name := range []string{"again", "once"} {
		if n := lines(filepath.Join(ledger, name)); n != 1 {
			t.Errorf("%s worked %d times", name, n)
		}
	}
	for _, v := range c.Recorder.Versions() {
		if strings.Contains(string(v.Value), "s3cret-pin") {
			t.Errorf("%s has the secret", v.Key)
		}
	}
	if out, code := cluster.Command(t, rota, "verify", "--all-changes", server); code != 0 {
		t.Errorf("verify: %d\n%s", code, out)
	}
}

func lines(path string) int {
	text, _ := os.ReadFile(path)
	return strings.Count(string(text), "\n")
}
