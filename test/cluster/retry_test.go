package cluster

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
)

// TestFailingJobKeepsItsCadence has jobs that fail at every attempt, with and without retries, while leaders are killed. Every
// slot still gets its run, each run gets at most the attempts of its policy, and retries keep their pauses.
func TestFailingJobKeepsItsCadence(t *testing.T) {
	row(t)
	t.Parallel()
	const retries, pause = 2, 2 * time.Second
	sink, ledger := NewSink(t), NewLedger(t)
	sink.Answer(500)
	end := time.Now().Add(startTime + 14*time.Second).Truncate(time.Second)
	spec := job.Spec{
		Every: job.Duration(time.Second), End: &end, Missed: job.MissedAll, Overlap: job.OverlapAllow,
		HTTP: &job.HTTP{URL: sink.URL(), Method: "POST"},
	}
	spec.Retry = &job.Retry{} // max: 0
	again := spec
	again.Retry = &job.Retry{Max: retries, Backoff: job.BackoffConstant, Min: job.Duration(pause), Jitter: job.JitterNone}
	throws := spec
	throws.HTTP, throws.Shell = nil, ledger.Shell("exit 3")
	missing := spec
	missing.HTTP, missing.Command = nil, []string{"/nowhere/to/be/found"}
	c := Start(t, Config{Binary: binary, Jobs: map[string]job.Spec{
		"never": spec, "again-1": again, "again-2": again, "throws": throws, "missing": missing,
	}})
	Let(4 * time.Second)
	killed := c.Leader()
	Await(t, 10*time.Second, "something waits for a retry", func() bool { return len(c.Recorder.Open()) > 0 })
	killed.Kill()
	if c.Leader() == killed {
		t.Fatalf("%s leads again: the fault took no effect", killed.Name)
	}
	killed.Start()
	Let(time.Until(end))
	c.AwaitEnd(time.Minute)
	c.Judge(append(sink.Requests(), ledger.Effects()...), nil, func(j *history.Job) { j.MayFail = true })

	attempts := make(map[string]int)
	for _, e := range sink.Requests() {
		attempts[e.Run]++
	}
	due := end.Sub(c.ready).Truncate(time.Second)
	for name, want := range map[string]int{"never": 1, "again-1": 1 + retries, "again-2": 1 + retries, "throws": 1, "missing": 1} {
		runs := c.Recorder.Runs(name)
		if len(runs) < int(due.Seconds())-1 {
			t.Errorf("job %s has %d runs in %v: its failures hold it up", name, len(runs), due)
		}
		for _, r := range runs {
			failures := 0
			for _, a := range r.Attempts {
				if a.State != job.Lost {
					failures++
				}
			}
			if r.State != job.Failed || failures != want {
				t.Errorf("run %s: got %s after %d failures (%s), want failed after %d", r.Name(), r.State, failures, r.Reason, want)
			}
		}
	}
	runs := c.Recorder.Runs("")
	told := slices.DeleteFunc(sink.Requests(), func(e history.Effect) bool { // a lost attempt is repeated at once
		return slices.ContainsFunc(runs[e.Run].Attempts, func(a job.Attempt) bool { return a.Token == e.Token && a.State == job.Lost })
	})
	gaps(t, told, "again-", pause-killing, time.Minute)
}

// killing is how much earlier than its pause a retry may come. This happens if the worker was killed after the target answered
// and before the worker reported the outcome.
const killing = 100 * time.Millisecond

// TestDelayedRunsOnce submits delayed runs, some of which fail first, and kills and restarts all nodes while the runs become
// due. Each runs once, plus once for each failure, and none runs again afterwards.
func TestDelayedRunsOnce(t *testing.T) {
	row(t)
	t.Parallel()
	const count, last, pause = 60, 10, time.Second
	rng := seeded(t)
	sink := NewSink(t)
	fails := func(run string) bool { return strings.Contains(run, "/key-") && run[len(run)-1]%3 == 0 }
	sink.AnswerBy(func(e history.Effect) (time.Duration, int) {
		if e.Attempt == 1 && fails(e.Run) {
			return 0, 503
		}
		return 50 * time.Millisecond, 204
	})
	once := job.Spec{
		HTTP: &job.HTTP{URL: sink.URL(), Method: "POST"}, Overlap: job.OverlapAllow,
		Retry: &job.Retry{Max: 20, Backoff: job.BackoffConstant, Min: job.Duration(pause), Jitter: job.JitterNone},
	}
	c := Start(t, Config{Binary: binary, Jobs: map[string]job.Spec{"once": once}})
	due := make(map[string]time.Time)
	later := func(i int) {
		t.Helper()
		in := 2*time.Second + time.Duration(rng.Int64N(int64(10*time.Second)))
		at := time.Now().Add(in)
		due[submit(t, c, "once", api.RunRequest{Key: fmt.Sprintf("delayed-%d", i), In: in.String()}).Ref] = at
	}
	for i := range count - last {
		later(i)
	}
	leader := c.Leader()
	leader.Kill()
	next := c.Leader()
	leader.Start()
	leader.WaitReady()
	next.Kill()
	c.Leader()
	next.Start()
	next.WaitReady()
	for i := range last { // these runs are under way now, however long the steps before took
		later(count - last + i)
	}
	c.Recorder.Sync()
	for _, n := range c.Replicas() { // all at once, as in a power cut
		n.Kill()
	}
	if len(c.Recorder.Open()) == 0 {
		t.Fatal("no run was active when all nodes were killed: the fault took no effect")
	}
	for _, n := range c.Replicas() {
		n.Start()
	}
	c.WaitReady()
	Await(t, time.Minute, "all runs have ended", func() bool { return len(c.Recorder.Open()) == 0 })
	asked := len(sink.Requests())
	Let(7 * time.Second) // longer than the interval of any sweep
	if n := len(sink.Requests()); n != asked {
		t.Errorf("%d more requests after everything had ended", n-asked)
	}
	c.Check(sink.Requests, nil, nil)

	runs, retried := c.Recorder.Runs("once"), 0
	if len(runs) != count {
		t.Errorf("got %d runs, want %d", len(runs), count)
	}
	for _, r := range runs {
		want := 0
		if fails(r.Name()) {
			want, retried = 1, retried+1
		}
		failed := 0
		for _, a := range r.Attempts {
			if a.State == job.Failed {
				failed++
			}
		}
		if r.State != job.Succeeded || failed > want {
			t.Errorf("run %s: got %s after %d failures, want succeeded after at most %d: %+v", r.Name(), r.State, failed, want, r.Attempts)
		}
	}
	if retried == 0 {
		t.Error("nothing had to be retried: the load is too low")
	}
	for _, e := range sink.Requests() {
		if at, known := due[e.Run]; !known || e.Arrived.Before(at) {
			t.Errorf("%s was executed at %v, and is due at %v", e.Run, e.Arrived, at)
		}
	}
}

// TestCursorIsRewound sets cursors of jobs back to an earlier value. A failover with stale state, or an operator, may do the
// same. No run of a slot after the earlier value is repeated, and later slots run as before.
func TestCursorIsRewound(t *testing.T) {
	row(t)
	t.Parallel()
	sink := NewSink(t)
	spec := job.Spec{Every: job.Duration(time.Second), Missed: job.MissedAll, HTTP: &job.HTTP{URL: sink.URL(), Method: "POST"}}
	jobs := make(map[string]job.Spec)
	for i := range 10 {
		jobs[fmt.Sprintf("post-%d", i)] = spec
	}
	c := Start(t, Config{Binary: binary, Jobs: jobs})
	c.PutBack = make(map[string]bool)
	Await(t, 30*time.Second, "jobs run", func() bool { return len(sink.Requests()) > 60 })
	rewind := func() {
		t.Helper()
		for name := range jobs {
			key := "cursors/" + name
			c.PutBack[Prefix+"/"+key] = true
			put(t, c, Prefix+"/"+key, string(c.Recorder.VersionsOf(key)[0].Value))
		}
	}
	rewind()
	asked := len(sink.Requests())
	Await(t, 20*time.Second, "jobs run on", func() bool { return len(sink.Requests()) > asked+30 })
	leader, term := c.Leader(), termOf(c)
	for range 5 { // the next leader must find old cursors; repeat if the leader has moved one meanwhile, as it does each second
		rewind()
		c.Recorder.Sync()
		vs := c.Recorder.VersionsOf("cursors/post-0")
		if bytes.Equal(vs[len(vs)-1].Value, vs[0].Value) {
			break
		}
	}
	leader.Kill()
	Await(t, 20*time.Second, "another one leads", func() bool { return c.Leader() != leader })
	asked = len(sink.Requests())
	Await(t, 20*time.Second, "jobs run on", func() bool { return len(sink.Requests()) > asked+30 })
	leader.Start()
	c.WaitReady()
	c.Recorder.Sync()
	found := 0
	for name := range jobs {
		vs := c.Recorder.VersionsOf("cursors/" + name)
		for i := 2; i < len(vs); i++ {
			if next, ok := cursorIn(vs[i]); ok && next.Term > term && bytes.Equal(vs[i-1].Value, vs[0].Value) {
				found++
			}
		}
	}
	if t.Logf("the next leader found %d cursors put back", found); found == 0 {
		t.Error("the next leader found no cursor that had been put back: the fault took no effect")
	}
	c.Check(sink.Requests, nil, nil)
	if versions, runs := len(c.Recorder.Versions()), len(c.Recorder.Runs("")); versions > 30*runs {
		t.Errorf("%d versions of records for %d runs: a process writes without end", versions, runs)
	}
}
