package cluster

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
	"github.com/rota-scheduler/rota/test/release"
)

// TestUpgradeAndBack replaces three replicas of version 0.1.0 under load by this build, one at a time, and then goes back. Each
// version leads replicas of the other and reads its records. No slot is missed or repeated, and the record of a waiting run is
// not written again.
func TestUpgradeAndBack(t *testing.T) {
	row(t)
	t.Parallel()
	old := release.Build(t, release.V010)
	sink, ledger := NewSink(t), NewLedger(t)
	sink.AnswerBy(func(e history.Effect) (time.Duration, int) {
		if strings.HasPrefix(e.Job, "retry-") && e.Attempt == 1 {
			return 0, 503
		}
		return 300 * time.Millisecond, 204 // so that each replica has requests under way when it stops
	})
	end := time.Now().Add(startTime + 60*time.Second).Truncate(time.Second) // the replacements take half of that
	jobs := upgradeJobs(sink, ledger, end)
	c := Start(t, Config{
		Binary: old, Jobs: jobs, Limits: map[string]job.LimitSpec{"narrow": {Concurrent: 3, Rate: job.Rate{Count: 10, Per: time.Second}}},
		Prepare: func(c *Cluster) {
			for _, n := range c.Replicas() {
				n.Args = knownTo010(n.Args)
			}
		},
	})
	lonely, _, err := c.Client.Submit(t.Context(), "lonely", api.RunRequest{})
	if err != nil {
		t.Fatal(err)
	}
	const waits = "no worker accepts it: none is present with its labels or handler"
	Await(t, 20*time.Second, "a run waits for a worker", func() bool { return c.Recorder.Runs("")[lonely.Ref].Reason == waits })
	later := time.Now().Add(30 * time.Second)
	if _, _, err := c.Client.Submit(t.Context(), "later", api.RunRequest{At: &later, Key: "once"}); err != nil {
		t.Fatal(err)
	}
	awaitRequests(t, sink)
	writes := len(c.Recorder.VersionsOf("runs/" + lonely.Ref))

	leader := c.Leader()
	others := slices.DeleteFunc(slices.Clone(c.Replicas()), func(n *Node) bool { return n == leader })
	for _, n := range append(others, leader) { // version 0.1.0 leads the replicas of this build until the end
		if n == leader {
			definePod(c, leader, others[0])
			awaitRequests(t, sink)
			if runs := c.Recorder.Runs("pod"); c.Leader() != leader || len(runs) > 0 {
				t.Errorf("a job that version 0.1.0 does not know has %d runs while it leads", len(runs))
			}
		}
		n.replace(binary, append(slices.Clone(n.Args), allowWorker, allowNotify))
		awaitRequests(t, sink)
	}
	checkPod(c)
	leader = c.Leader()
	others = slices.DeleteFunc(slices.Clone(c.Replicas()), func(n *Node) bool { return n == leader })
	for _, n := range append([]*Node{leader}, others...) {
		n.replace(old, knownTo010(n.Args))
		awaitRequests(t, sink)
	}
	if late := time.Since(end); late > 0 {
		t.Fatalf("the last replica was replaced %v after the schedules had ended", late)
	}

	if n := len(c.Recorder.VersionsOf("runs/" + lonely.Ref)); n != writes {
		t.Errorf("the run that waits for a worker was written %d times more, although its reason did not change", n-writes)
	}
	if _, err := c.Client.Cancel(t.Context(), lonely.Ref, ""); err != nil {
		t.Fatal(err)
	}
	Let(time.Until(end))
	c.AwaitEnd(30 * time.Second)
	if n := len(succeeded(c, "later")); n != 1 {
		t.Errorf("%d runs of the delayed submission have succeeded, want 1", n)
	}
	c.Judge(append(sink.Requests(), ledger.Effects()...), nil, func(j *history.Job) { j.MayFail = j.Name == "lonely" })
	if n := led(c); n < 3 {
		t.Errorf("slots were decided in %d terms, want at least 3: the leader has hardly changed", n)
	}
	if n := lost(c); n > 0 {
		t.Errorf("%d attempts were lost, although all replicas were asked to stop and had time", n)
	}
	for name := range jobs {
		if n := len(c.Recorder.VersionsOf("jobs/" + name)); n != 1 {
			t.Errorf("job %s was defined %d times: the versions do not agree on the job files", name, n)
		}
	}
	for rota, flags := range map[string][]string{old: nil, binary: {"--all-changes"}} { // version 0.1.0 checks all by itself
		args := append([]string{"verify", "--endpoints=" + strings.Join(c.Endpoints(), ",")}, flags...)
		if out, code := Command(t, rota, args...); code != 0 {
			t.Errorf("%s verify: exit code %d\n%s", rota, code, out)
		}
	}
}

// definePod defines a job of a kind that version 0.1.0 does not know, while that version leads.
func definePod(c *Cluster, leader, fresh *Node) {
	c.t.Helper()
	spec := job.Spec{
		Every: job.Duration(time.Second), Missed: job.MissedAll, Overlap: job.OverlapAllow, Kubernetes: &job.Kubernetes{Image: "report:7"},
	}
	if _, _, err := newClient(c.t, fresh.URL, "").PutJob(c.t.Context(), "pod", spec, api.Precondition{}); err != nil {
		c.t.Fatal(err)
	}
	if out, _ := Command(c.t, leader.binary, "status", "--server="+leader.URL); !strings.Contains(out, "jobs/pod") {
		c.t.Errorf("version 0.1.0 does not report the definition that it cannot read:\n%s", out)
	}
}

// checkPod checks that the slots of the job that definePod defined wait for a worker, also those that passed while version 0.1.0
// led. Then it deletes the job, which ends its runs.
func checkPod(c *Cluster) {
	c.t.Helper()
	var runs map[string]job.Run
	if !Within(20*time.Second, func() bool {
		runs = c.Recorder.Runs("pod")
		waiting := 0
		for _, r := range runs {
			if r.State == job.Pending && r.Attempt == 0 && strings.HasPrefix(r.Reason, "no worker accepts it") {
				waiting++
			}
		}
		return waiting > 0 && waiting == len(runs)
	}) {
		c.t.Fatalf("the slots of the job do not wait for a worker: %+v", runs)
	}
	if err := c.Client.DeleteJob(c.t.Context(), "pod", api.Precondition{}); err != nil {
		c.t.Fatal(err)
	}
	Await(c.t, 20*time.Second, "the runs of the deleted job are canceled", func() bool {
		for _, r := range c.Recorder.Runs("pod") {
			if r.State != job.Canceled {
				return false
			}
		}
		return true
	})
}

// upgradeJobs returns jobs whose runs wait for limits, retries and other runs. Their schedules end at end.
func upgradeJobs(sink *Sink, ledger *Ledger, end time.Time) map[string]job.Spec {
	jobs := make(map[string]job.Spec)
	add := func(n int, kind string, spec job.Spec) {
		spec.Every, spec.End, spec.Missed = job.Duration(time.Second), &end, job.MissedAll
		if spec.Shell == "" {
			spec.HTTP = &job.HTTP{URL: sink.URL(), Method: "POST"}
		}
		for i := range n {
			jobs[fmt.Sprintf("%s-%d", kind, i)] = spec
		}
	}
	add(20, "post", job.Spec{})
	add(10, "allow", job.Spec{Overlap: job.OverlapAllow})
	add(5, "queue", job.Spec{Overlap: job.OverlapQueue})
	add(5, "retry", job.Spec{Retry: &job.Retry{Max: 2, Backoff: job.BackoffConstant, Min: job.Duration(200 * time.Millisecond)}})
	add(5, "limit", job.Spec{Overlap: job.OverlapQueue, Limits: []string{"narrow"}})
	add(2, "write", job.Spec{Delivery: job.AtMostOnce, Shell: ledger.Shell("sleep 0.1")})
	jobs["later"] = job.Spec{HTTP: &job.HTTP{URL: sink.URL(), Method: "POST"}}
	jobs["lonely"] = job.Spec{HTTP: &job.HTTP{URL: sink.URL(), Method: "POST"}, Workers: map[string]string{"zone": "nowhere"}}
	return jobs
}

// knownTo010 returns args without the arguments that are newer than version 0.1.0.
func knownTo010(args []string) []string {
	return slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == allowWorker || arg == allowNotify })
}

// replace stops the replica and starts another build in its place.
func (n *Node) replace(binary string, args []string) {
	n.t.Helper()
	n.Terminate()
	n.binary, n.Args = binary, args
	n.Start()
	n.WaitReady()
	runs, err := os.Stat(fmt.Sprintf("/proc/%d/exe", n.PID()))
	if err != nil {
		n.t.Fatal(err)
	}
	if want, err := os.Stat(binary); err != nil || !os.SameFile(runs, want) {
		n.t.Errorf("%s does not execute %s (%v)", n.Name, binary, err)
	}
}

// awaitRequests waits until jobs have sent a hundred more requests to sink.
func awaitRequests(t *testing.T, sink *Sink) {
	t.Helper()
	before := len(sink.Requests())
	Await(t, 30*time.Second, "jobs run on", func() bool { return len(sink.Requests()) > before+100 })
}
