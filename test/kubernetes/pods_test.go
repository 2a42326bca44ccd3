package kubernetes

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/cluster"
	"github.com/rota-scheduler/rota/test/files"
	"github.com/rota-scheduler/rota/test/proxy"
)

// pod returns a job whose pod runs for some seconds and exits with a code. It gets a secret from a file of the worker.
func pod(secret string, seconds, code int) job.Spec {
	return job.Spec{
		Kubernetes: &job.Kubernetes{
			Image: jobImage, Pull: job.PullNever, Args: []string{fmt.Sprint(seconds), fmt.Sprint(code)},
			StartTimeout: job.Duration(20 * time.Second),
		},
		Env: map[string]string{"SECRET": "${file:" + secret + "}"}, KillGrace: job.Duration(2 * time.Second),
		Timeout: job.Duration(5 * time.Minute),
	}
}

// TestJobsAsPods runs jobs of the kind kubernetes on a real node.
func TestJobsAsPods(t *testing.T) {
	binary := os.Getenv("ROTA_TEST_BINARY")
	if os.Getenv("ROTA_TEST_KUBERNETES") != "" {
		buildJobImage(t)
	}
	n := startNode(t, jobImage)
	secret := files.Write(t, filepath.Join(t.TempDir(), "secret"), "s3cret-of-the-worker")
	absent := pod(secret, 1, 0)
	absent.Kubernetes.Image = "localhost/absent:1"
	absent.Kubernetes.Pull = job.PullMissing
	greedy := pod(secret, 1, 0)
	greedy.Kubernetes.Resources = []byte(`{"requests":{"cpu":"1000"}}`)
	late := pod(secret, 60, 0)
	late.Timeout = job.Duration(8 * time.Second)
	brief := pod(secret, 15, 0)
	brief.Timeout = job.Duration(25 * time.Second)
	unseen := pod(secret, 10, 0)
	unseen.Timeout = brief.Timeout
	cutOff, orphan := pod(secret, 30, 0), pod(secret, 600, 0)
	cutOff.Workers, orphan.Workers = map[string]string{"near": "yes"}, map[string]string{"last": "yes"}
	c := cluster.Start(t, cluster.Config{
		Binary: binary, Replicas: 1, Flags: func(string) []string { return []string{"--worker-enabled=false"} },
		Jobs: map[string]job.Spec{
			"ends": pod(secret, 2, 0), "fails": pod(secret, 1, 3), "adopted": pod(secret, 30, 0), "ended-alone": pod(secret, 5, 4), "canceled": pod(secret, 100, 0),
			"outage": pod(secret, 20, 0), "brief": brief, "by-hand": pod(secret, 100, 0), "absent": absent, "greedy": greedy, "late": late,
			"cut-off": cutOff, "orphan": orphan, "jobless": pod(secret, 40, 0), "unseen": unseen,
		},
	})
	kinds := []string{"--worker-kinds=kubernetes", "--worker-refs-files=" + secret, "--worker-kubernetes-kubeconfig=" + n.kubeconfig()}
	first := c.AddWorker("w1", kinds...)
	p := &pods{t: t, n: n, c: c, binary: binary}

	p.claim("a pod ends", func(t *testing.T) {
		run := p.submit("ends")
		p.await(run, job.Succeeded, "")
		if out := p.logs(run); !strings.Contains(out, "begin "+run) || !strings.Contains(out, "end") || !strings.Contains(out, "secret ***") {
			t.Errorf("output %q", out)
		}
		if text := n.kubectl("get", "job", "-o", "yaml"); strings.Contains(text, "s3cret-of-the-worker") {
			t.Error("the Job has the secret")
		}
	})
	p.claim("a pod fails", func(t *testing.T) { p.await(p.submit("fails"), job.Failed, "exit code 3") })
	p.claim("the causes are named", func(t *testing.T) {
		none, busy, slow := p.submit("absent"), p.submit("greedy"), p.submit("late")
		p.await(slow, job.TimedOut, "timed out")
		p.await(none, job.Failed, "image localhost/absent:1 cannot be pulled")
		p.await(busy, job.Failed, "no node takes the pod")
		p.gone("absent", "greedy", "late")
	})
	p.claim("a canceled run has no pod", func(t *testing.T) {
		run := p.submit("canceled")
		p.awaitPod("canceled")
		if _, err := c.Client.Cancel(t.Context(), run, "enough"); err != nil {
			t.Fatal(err)
		}
		p.await(run, job.Canceled, "enough")
		p.gone("canceled")
	})
	p.claim("somebody deletes the Job", func(t *testing.T) {
		run := p.submit("by-hand")
		p.awaitPod("by-hand")
		n.kubectl("delete", p.jobs("by-hand")[0])
		p.await(run, job.Failed, "was deleted before it ended")
	})
	p.claim("the API server is away", func(t *testing.T) {
		run := p.submit("outage")
		p.awaitPod("outage")
		n.signal("apiserver", syscall.SIGSTOP)
		cluster.Let(time.Minute)
		n.signal("apiserver", syscall.SIGCONT)
		p.await(run, job.Succeeded, "")
		p.once("outage")
		if out := p.logs(run); strings.Count(out, "second 7\n") != 1 || !strings.Contains(out, "the attempt waits") {
			t.Errorf("output %q, want each line once, and a word about the outage", out)
		}
	})
	p.claim("the API server is away for longer than the timeout", func(t *testing.T) {
		run := p.submit("brief")
		p.awaitPod("brief")
		n.signal("apiserver", syscall.SIGSTOP)
		cluster.Let(time.Minute)
		n.signal("apiserver", syscall.SIGCONT)
		p.await(run, job.Succeeded, "")
		p.once("brief")
	})
	p.claim("the kubelet is away at the timeout", func(t *testing.T) {
		run := p.submit("unseen")
		p.awaitPod("unseen")
		n.signal("kubelet", syscall.SIGSTOP)
		cluster.Let(30 * time.Second)
		n.signal("kubelet", syscall.SIGCONT)
		p.await(run, job.Succeeded, "")
	})
	p.claim("the worker dies", func(t *testing.T) {
		lives, ends, jobless := p.submit("adopted"), p.submit("ended-alone"), p.submit("jobless")
		for _, name := range []string{"adopted", "ended-alone", "jobless"} {
			p.awaitPod(name)
		}
		first.Kill()
		n.kubectl("delete", p.jobs("jobless")[0], "--cascade=orphan")
		cluster.Let(8 * time.Second) // one of the pods ends in the meantime
		c.AddWorker("w2", kinds...)
		p.await(lives, job.Succeeded, "")
		p.await(ends, job.Failed, "exit code 4")
		for _, name := range []string{"adopted", "ended-alone"} {
			p.once(name)
		}
		p.await(jobless, job.Succeeded, "")
		if jobs, pods := p.jobs("jobless"), p.of("pods", "jobless"); len(jobs) != 0 || len(pods) != 1 {
			t.Errorf("got Jobs %v and pods %v, want the pod of the first attempt", jobs, pods)
		}
		for _, run := range []string{lives, ends, jobless} {
			r := p.run(run)
			if r.Attempt != 2 || len(r.Attempts) != 2 || r.Attempts[0].State != job.Lost {
				t.Errorf("%s: got attempt %d after %+v, want a second one after a lost one", run, r.Attempt, r.Attempts)
			}
			if out := p.logs(run); strings.Contains(out, "of attempt 1") == (run == jobless) || !strings.Contains(out, fmt.Sprintf("attempt 1 token %d", r.Attempts[0].Token)) {
				t.Errorf("%s: output %q, want that of the pod with the first token", run, out)
			}
		}
	})
	p.claim("the worker is cut off from etcd", func(t *testing.T) {
		link := proxy.NewLink(t, c.Endpoints()[0])
		near := append(slices.Clone(kinds), "--worker-labels=near=yes")
		c.AddWorker("w3", near...).StartVia(link.Endpoint())
		run := p.submit("cut-off")
		p.awaitPod("cut-off")
		link.Cut()
		c.AddWorker("w4", near...)
		p.await(run, job.Succeeded, "")
		p.once("cut-off")
		if r := p.run(run); link.Held() == 0 || r.Attempt != 2 || r.Attempts[0].State != job.Lost || r.Attempts[0].Worker != "w3" {
			t.Errorf("got %+v, want a second attempt after w3 was lost", r)
		}
		link.Heal()
		if out := p.logs(run); strings.Count(out, "second 20\n") != 1 {
			t.Errorf("output %q, want each line once", out)
		}
	})
	p.claim("a run is canceled after its worker died", func(t *testing.T) {
		last := c.AddWorker("w5", append(slices.Clone(kinds), "--worker-labels=last=yes")...)
		run := p.submit("orphan")
		p.awaitPod("orphan")
		last.Kill()
		if _, err := c.Client.Cancel(t.Context(), run, "enough"); err != nil {
			t.Fatal(err)
		}
		p.await(run, job.Canceled, "enough")
		p.once("orphan") // nobody could delete it, and another worker sweeps later: each of three at least once in 4 minutes
		cluster.Await(t, 5*time.Minute, "another worker deletes the Job", func() bool { return len(p.jobs("orphan")) == 0 })
		p.gone("orphan")
	})
	if out, code := cluster.Command(t, binary, "verify", "--all-changes", "--endpoints", strings.Join(c.Endpoints(), ",")); code != 0 {
		t.Errorf("rota verify exits with %d: %s", code, out)
	}
}

// pods are the jobs of a cluster of rota on a node.
type pods struct {
	t      *testing.T
	n      *node
	c      *cluster.Cluster
	binary string
}

// claim runs a part of the test.
func (p *pods) claim(name string, check func(t *testing.T)) {
	whole := p.t
	defer func() { p.t, p.n.t = whole, whole }()
	whole.Run(name, func(t *testing.T) {
		p.t, p.n.t = t, t
		check(t)
	})
}

// submit starts a run, and returns its name.
func (p *pods) submit(name string) string {
	p.t.Helper()
	r, _, err := p.c.Client.Submit(p.t.Context(), name, api.RunRequest{})
	if err != nil {
		p.t.Fatal(err)
	}
	return r.Name()
}

func (p *pods) run(name string) job.Run {
	p.t.Helper()
	owner, id, _ := strings.Cut(name, "/")
	return p.c.Recorder.Runs(owner)[id]
}

// await waits for the end of a run.
func (p *pods) await(run string, state job.State, reason string) {
	p.t.Helper()
	cluster.Within(3*time.Minute, func() bool { return p.run(run).State.Terminal() })
	if r := p.run(run); r.State != state || !strings.Contains(r.Reason, reason) {
		p.t.Errorf("%s: got %s, %q, want %s, %q", run, r.State, r.Reason, state, reason)
	}
}

// jobs returns the Jobs of a job of rota.
func (p *pods) jobs(name string) []string { return p.of("jobs", name) }

func (p *pods) of(kind, name string) (list []string) {
	p.t.Helper()
	for _, o := range p.n.names(kind) {
		if _, base, _ := strings.Cut(o, "/"); strings.HasPrefix(base, name+"-") {
			list = append(list, o)
		}
	}
	return list
}

// awaitPod waits until the pod of a job runs.
func (p *pods) awaitPod(name string) {
	p.t.Helper()
	cluster.Await(p.t, 30*time.Second, "the pod of "+name+" runs", func() bool {
		for line := range strings.Lines(p.n.kubectl("get", "pods", "--no-headers")) {
			if strings.HasPrefix(line, name+"-") && slices.Contains(strings.Fields(line), "Running") {
				return true
			}
		}
		return false
	})
}

// once fails the test unless a job has had exactly one Job and one pod.
func (p *pods) once(name string) {
	p.t.Helper()
	if jobs, pods := p.jobs(name), p.of("pods", name); len(jobs) != 1 || len(pods) != 1 {
		p.t.Errorf("%s: got Jobs %v and pods %v, want one of each", name, jobs, pods)
	}
}

// gone fails the test unless the jobs have neither Jobs nor pods.
func (p *pods) gone(names ...string) {
	p.t.Helper()
	for _, name := range names {
		if jobs, pods := p.jobs(name), p.of("pods", name); len(jobs)+len(pods) > 0 {
			p.t.Errorf("%s: got Jobs %v and pods %v, want none", name, jobs, pods)
		}
	}
}

func (p *pods) logs(run string) string {
	p.t.Helper()
	out, code := cluster.Command(p.t, p.binary, "logs", "--server", p.c.Replicas()[0].URL, run)
	if code != 0 {
		p.t.Errorf("rota logs %s exits with %d: %s", run, code, out)
	}
	return out
}
