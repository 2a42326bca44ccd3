package containers

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/cluster"
)

func TestAContainerRemovedByHand(t *testing.T) {
	d := startEngine(t)
	_, done := begin(t, newExecutor(d, "w1"), attempt("removed/1", "sleep:1m"))
	cluster.Await(t, 20*time.Second, "it runs", func() bool { return len(d.running()) == 1 })
	name := d.running()[0]
	d.docker("rm", "--force", name)
	if o := wait(t, done); o.State != job.Failed || o.Reason != "container "+name+" was removed while it ran" || !o.Retry {
		t.Errorf("got %+v", o)
	}
}

func TestTheEngineRestarts(t *testing.T) {
	t.Run("and containers live on", func(t *testing.T) {
		d := startEngine(t, "--live-restore")
		r := attempt("live/1", "count:500", "output:n=1")
		_, done := begin(t, newExecutor(d, "w1"), r)
		cluster.Await(t, 20*time.Second, "it prints", func() bool { return strings.Contains(fmt.Sprint(r.Output), "line 20\n") })
		d.stop(syscall.SIGKILL)
		d.start()
		if o := wait(t, done); o.State != job.Succeeded || o.Outputs["n"] != "1" {
			t.Errorf("got %+v", o)
		}
		var want strings.Builder
		for i := range 500 {
			fmt.Fprintln(&want, "line", i)
		}
		if got := fmt.Sprint(r.Output); got != want.String() {
			t.Errorf("output has %d bytes, want %d:\n%s", len(got), want.Len(), got)
		}
	})
	for name, signal := range map[string]syscall.Signal{"and stops containers": syscall.SIGTERM, "and finds its containers": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			d := startEngine(t)
			_, done := begin(t, newExecutor(d, "w1"), attempt("dead/1", "ignore", "sleep:1m"))
			cluster.Await(t, 20*time.Second, "it runs", func() bool { return len(d.running()) == 1 })
			d.stop(signal)
			d.start()
			if o := wait(t, done); o.State != job.Lost || !strings.HasPrefix(o.Reason, "container ended when Docker's engine stopped") {
				t.Errorf("got %+v", o)
			}
		})
	}
	t.Run("while an attempt begins", func(t *testing.T) {
		d := startEngine(t)
		d.stop(syscall.SIGTERM)
		_, done := begin(t, newExecutor(d, "w1"), attempt("begin/1", "say:hello"))
		d.start()
		if o := wait(t, done); o.State != job.Succeeded {
			t.Errorf("got %+v", o)
		}
	})
}
