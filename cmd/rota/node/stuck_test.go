package node

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/executor/handler"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestAnAttemptThatIgnoresItsTimeout runs an attempt that its worker cannot end. The leader stops waiting for the attempt,
// and its late outcome has no effect. The attempt still uses capacity of that worker, so another worker starts the next run.
func TestAnAttemptThatIgnoresItsTimeout(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	handlers := map[string]handler.Func{
		"stuck": func(_ context.Context, t handler.Task) error {
			io.WriteString(t.Output, "working\n")
			<-release // the handler ignores its context
			return nil
		},
		"quick": func(context.Context, handler.Task) error { return nil },
	}
	set := settings(t, "q1")
	set.Worker.Capacity = 2
	r := start(t, Config{
		Settings: set, Version: version, StopMargin: 300 * time.Millisecond, StopPatience: 500 * time.Millisecond, Handlers: handlers,
	})
	r.lead(t)
	bound := job.Duration(500 * time.Millisecond)
	spec := job.Spec{Handler: "stuck", Timeout: bound, KillGrace: bound}
	r.put(t, "repeat", spec)
	spec.Delivery = job.AtMostOnce
	r.put(t, "once", spec)
	repeat, once := r.submit(t, "repeat", api.RunRequest{}), r.submit(t, "once", api.RunRequest{})
	r.reaches(t, repeat.Ref, job.Running)
	followed := make(chan string, 1)
	go func() { // waited for below
		out, err := r.Logs(t.Context(), repeat.Ref, 0, true)
		if err != nil {
			followed <- err.Error()
			return
		}
		defer out.Close()
		text, err := io.ReadAll(out)
		followed <- fmt.Sprint(string(text), err)
	}()
	eventually(t, "it is asked to end", func() bool {
		v, err := r.Run(t.Context(), repeat.Ref)
		return err == nil && strings.Contains(v.Reason, "goes on after its timeout")
	})
	repeat, once = r.ends(t, repeat.Ref, job.TimedOut), r.ends(t, once.Ref, job.Lost)
	eventually(t, "two attempts are counted as given up", func() bool { return r.metric(t, "rota_attempts_given_up_total") == 2 })
	if !strings.Contains(r.log.String(), "attempt was given up") {
		t.Error("the log does not say so")
	}
	select { // the attempt still runs
	case text := <-followed:
		if text != "working\n<nil>" {
			t.Errorf("followed output: got %q", text)
		}
	case <-time.After(20 * time.Second):
		t.Error("its output is followed for ever")
	}

	other := outside(t, "q2", set.Etcd.Embedded.Client)
	other.Worker.Capacity = set.Worker.Capacity
	start(t, Config{Settings: other, Role: WorkerOnly, Version: version, Handlers: handlers})
	r.put(t, "next", job.Spec{Handler: "quick"})
	for range 3 { // idle workers take turns, so one of these runs goes to q1 first
		r.ends(t, r.submit(t, "next", api.RunRequest{}).Ref, job.Succeeded)
	}
	if !strings.Contains(r.log.String(), "worker has no room") {
		t.Error("q1 was not asked, or had room")
	}

	close(release)
	eventually(t, "the late outcomes are fenced", func() bool { return r.metric(t, "rota_outcomes_fenced_total") == 2 })
	for _, before := range []api.RunView{repeat, once} {
		if now, err := r.Run(t.Context(), before.Ref); err != nil || now.Revision != before.Revision {
			t.Errorf("%s was changed: %s, %v", before.Ref, now.State, err)
		}
	}
	r.sound(t)
}
