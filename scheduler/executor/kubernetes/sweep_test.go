package kubernetes_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/kubernetes"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/poll"
)

// TestJobsOfEndedRunsAreSwept loses the workers of runs. One run is canceled before another worker has it. Another namespace
// cannot be read.
func TestJobsOfEndedRunsAreSwept(t *testing.T) {
	s, e := newServer(t, running())
	runs := map[string]*job.Run{}
	for _, name := range []string{"canceled", "canceled-by-a-clock-ahead", "just-canceled", "lost", "of-another-cluster", "forgotten"} {
		req := request(new(bytes.Buffer))
		req.Run.Job = name
		abandon(t, s, e, req)
		runs[name] = &req.Run
		req.Run.State, req.Run.Finished = job.Canceled, time.Now().Add(-time.Hour)
	}
	runs["just-canceled"].Finished = time.Now()
	ahead := runs["canceled-by-a-clock-ahead"] // it was armed by the leader's clock, and ended by that of its worker
	ahead.Armed, ahead.Finished = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	ahead.Attempts = []job.Attempt{{Number: 1, State: job.Canceled, Started: ahead.Finished.Add(-time.Minute), Finished: ahead.Finished}}
	runs["lost"].State = job.Pending
	runs["of-another-cluster"].Created = time.Unix(2, 0)
	delete(runs, "forgotten")

	ctx, end := context.WithTimeout(t.Context(), 30*time.Second)
	defer end()
	var asked atomic.Int32
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = e.Sweep(ctx, func(_ context.Context, name, _ string) (job.Run, error) {
			asked.Add(1)
			if r := runs[name]; r != nil {
				return *r, nil
			}
			return job.Run{}, job.ErrNotFound
		}, func(context.Context) (int, error) { return 1, nil }, hclog.NewNullLogger())
	})
	poll.Until(t, "six runs are read, and four Jobs are left", func() bool { return asked.Load() >= 6 && s.left() <= 4 })
	end()
	wg.Wait()
	if asked.Load() != 6 || s.left() != 4 {
		t.Errorf("%d runs were read, and %d Jobs are left, want 6 and 4", asked.Load(), s.left())
	}
	for name := range s.jobs {
		if strings.HasPrefix(name, "canceled") {
			t.Errorf("%s is left", name)
		}
	}
}

// TestLargeJobsAreSwept has more Jobs of a canceled run than one answer can hold.
func TestLargeJobsAreSwept(t *testing.T) {
	const jobs = 60
	s, e := newServer(t, running())
	req := request(new(bytes.Buffer))
	abandon(t, s, e, req)
	req.Run.State, req.Run.Finished = job.Canceled, time.Now().Add(-time.Hour)
	s.set(func() {
		for name, one := range maps.Clone(s.jobs) {
			for i := range jobs - 1 {
				metadata := maps.Clone(one["metadata"].(map[string]any))
				metadata["name"] = fmt.Sprint(name, "-", i)
				metadata["managedFields"] = strings.Repeat("x", 100<<10)
				other := maps.Clone(one)
				other["metadata"] = metadata
				s.jobs[metadata["name"].(string)] = other
			}
		}
	})
	ctx, end := context.WithTimeout(t.Context(), 30*time.Second)
	defer end()
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = e.Sweep(ctx, func(context.Context, string, string) (job.Run, error) { return req.Run, nil },
			func(context.Context) (int, error) { return 1, nil }, hclog.NewNullLogger())
	})
	poll.Until(t, "no Job is left", func() bool { return s.left() == 0 })
	end()
	wg.Wait()
}

// abandon executes an attempt until its Job exists. Then its worker is fenced.
func abandon(t *testing.T, s *server, e *kubernetes.Executor, req executor.Request) {
	t.Helper()
	ctx, lose := context.WithCancelCause(t.Context())
	before := s.count()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer lose(executor.ErrFenced)
	wg.Go(func() {
		if o := e.Execute(ctx, req); o.State != job.Lost {
			t.Errorf("got %+v", o)
		}
	})
	poll.Until(t, "a Job is created", func() bool { return s.count() > before })
}
