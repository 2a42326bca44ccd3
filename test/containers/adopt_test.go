package containers

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/cluster"
)

// TestOneContainerOfARun leaves containers behind as killed workers do, and begins further attempts.
func TestOneContainerOfARun(t *testing.T) {
	d := startEngine(t)
	ledger := t.TempDir()
	file := filepath.Join(ledger, "notes")
	notes := func() []string {
		text, _ := os.ReadFile(file)
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
	first := func(run string, steps ...string) executor.Request {
		_ = os.Remove(file)
		r := attempt(run, append([]string{"note:/ledger/notes"}, steps...)...)
		r.Spec.Container.Volumes = []string{ledger + ":/ledger"}
		return r
	}
	// killed begins an attempt in a process that does not outlive it.
	killed := func(r executor.Request) {
		t.Helper()
		w := startWorkerProcess(t, d, r)
		cluster.Await(t, 20*time.Second, "the container works", func() bool { return notes()[0] != "" })
		w.kill()
	}

	t.Run("adopted while it runs", func(t *testing.T) {
		r := first("running/1", "say:begin", "sleep:3s", "say:end", "output:n=1")
		killed(r)
		r = next(r, job.Lost)
		_, done := begin(t, newExecutor(d, "w2"), r)
		o := wait(t, done)
		if o.State != job.Succeeded || o.Outputs["n"] != "1" {
			t.Errorf("got %+v", o)
		}
		if out := fmt.Sprint(r.Output); !strings.Contains(out, "worker w1 started in attempt 1") || !strings.Contains(out, "begin\nend\n") {
			t.Errorf("output %q", out)
		}
		if got := notes(); len(got) != 1 {
			t.Errorf("worked %d times: %q", len(got), got)
		}
	})
	t.Run("adopted after it ended", func(t *testing.T) {
		r := first("ended/1", "exit:3")
		killed(r)
		cluster.Await(t, 20*time.Second, "it has ended", func() bool { return len(d.running()) == 0 })
		_, done := begin(t, newExecutor(d, "w2"), next(r, job.Lost))
		if o := wait(t, done); o.State != job.Failed || o.Reason != "exit code 3" || len(notes()) != 1 {
			t.Errorf("got %+v, notes %q", o, notes())
		}
	})
	t.Run("replaced if its end is recorded", func(t *testing.T) {
		r := first("failed/1", "sleep:1s")
		killed(r)
		_, done := begin(t, newExecutor(d, "w2"), next(r, job.Failed))
		if o := wait(t, done); o.State != job.Succeeded || len(notes()) != 2 {
			t.Errorf("got %+v, notes %q", o, notes())
		}
	})
	t.Run("created twice", func(t *testing.T) {
		r := first("twice/1", "sleep:2s")
		killed(r)
		_, done := begin(t, newExecutor(d, "w1"), r)
		if o := wait(t, done); o.State != job.Succeeded || len(notes()) != 1 {
			t.Errorf("got %+v, notes %q", o, notes())
		}
	})
	t.Run("ended by a worker that was fenced", func(t *testing.T) {
		r := first("fenced/1", "polite", "sleep:3s")
		hurry := make(chan struct{})
		r.Hurry = hurry
		end, done := begin(t, newExecutor(d, "w1"), r)
		cluster.Await(t, 20*time.Second, "the container works", func() bool { return notes()[0] != "" })
		close(hurry)
		end(executor.ErrFenced)
		began := time.Now()
		if o := wait(t, done); o.State != job.Lost {
			t.Errorf("got %+v", o)
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("took %v", took)
		}
		_, done = begin(t, newExecutor(d, "w2"), next(r, job.Lost))
		if o := wait(t, done); o.State != job.Succeeded || len(notes()) != 2 {
			t.Errorf("got %+v, notes %q", o, notes())
		}
	})
	t.Run("not ended by the worker that began it, and goes on after a pause", func(t *testing.T) {
		r := first("paused/1", "sleep:4s", "output:n=1")
		end, paused := begin(t, newExecutor(d, "w1"), r)
		cluster.Await(t, 20*time.Second, "the container works", func() bool { return notes()[0] != "" })
		later := next(r, job.Lost)
		_, done := begin(t, newExecutor(d, "w2"), later)
		cluster.Await(t, 20*time.Second, "the next attempt follows it", func() bool {
			return strings.Contains(fmt.Sprint(later.Output), "worker w1 started in attempt 1")
		})
		end(executor.ErrFenced)
		if o := wait(t, paused); o.State != job.Lost {
			t.Errorf("the first attempt ended as %+v", o)
		}
		if o := wait(t, done); o.State != job.Succeeded || o.Outputs["n"] != "1" || len(notes()) != 1 {
			t.Errorf("got %+v, notes %q", o, notes())
		}
	})
}
