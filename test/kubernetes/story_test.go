package kubernetes

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/test/cluster"
	"github.com/rota-scheduler/rota/test/files"
	"github.com/rota-scheduler/rota/test/history"
)

// bridge is the address of this machine that pods reach: see node.sh.
const bridge = "10.88.0.1"

// TestTheStoryOfARelease installs the chart by Helm. While jobs call a target, pods are deleted by force, the leader loses its data,
// all pods get another image, and the StatefulSet grows to five and shrinks to three. Every slot has its request, and no request
// comes twice unless its attempt was lost. ROTA_STORY_RATE is the number of jobs, each with a slot per second.
func TestTheStoryOfARelease(t *testing.T) {
	n := startNode(t, "rota:dev")
	n.run("docker", "tag", "rota:dev", "rota:next")
	n.script("load", "rota:next")
	sink := cluster.NewSinkAt(t, bridge)
	jobs := rate(t)
	values := files.Write(t, filepath.Join(t.TempDir(), "values.yaml"), storyValues(sink.URL(), jobs))
	release := func(args ...string) {
		t.Helper()
		cmd := exec.Command(helmBinary(t), args...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+n.kubeconfig())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	release("install", "rota", chart, "-f", values)
	r := newRelease(n)
	cluster.Await(t, 2*time.Minute, "each job runs", func() bool { return len(seen(sink.Requests())) == jobs })
	from := time.Now().Truncate(time.Second).Add(time.Second)

	r.lose(r.leader())
	r.lose("rota-1")
	release("upgrade", "rota", chart, "--reuse-values", "--set", "image.tag=next")
	r.awaitReady()
	release("upgrade", "rota", chart, "--reuse-values", "--set", "replicas=5")
	r.awaitReady()
	r.awaitMembers(5)
	r.lose(r.leader())
	release("upgrade", "rota", chart, "--reuse-values", "--set", "replicas=3")
	r.awaitReady()
	r.awaitMembers(3)
	cluster.Let(time.Until(from.Add(2 * time.Minute))) // at least so long
	v := tally{jobs: jobs, from: from, to: time.Now().Truncate(time.Second)}
	for last := v.to.Add(3 * time.Minute); ; { // slots that are owed when all jobs pause would stay owed
		if v.count(sink.Requests()); len(v.missed) == 0 || time.Now().After(last) {
			break
		}
		cluster.Let(2 * time.Second) // to count takes a while, and the cluster shares the processors
	}
	if out, err := r.rota("rota-0", "pause", "--all", "--reason", "the story is over"); err != nil {
		t.Fatal(err, out)
	}
	cluster.Within(time.Minute, func() bool {
		s, err := r.status()
		return err == nil && s.Runs.Running+s.Runs.Armed+s.Runs.Waiting+s.Runs.Retrying == 0
	})
	v.count(sink.Requests())
	t.Logf("%d slots from %v to %v, %d requests: missed %d, extra %d, repeated after a loss %d, the latest %v after its slot",
		v.slots, from.UTC(), v.to.UTC(), v.requests, len(v.missed), len(v.extra), len(v.repeated), v.latest.Round(time.Millisecond))
	if len(v.missed)+len(v.extra) > 0 {
		t.Errorf("missed %q, extra %q", v.missed[:min(10, len(v.missed))], v.extra[:min(10, len(v.extra))])
	}
	r.verifyLost(v.repeated)
	r.verify(t)
}

// rate returns the number of jobs.
func rate(t *testing.T) int {
	t.Helper()
	text := os.Getenv("ROTA_STORY_RATE")
	if text == "" {
		return 300
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// storyValues returns the values of the chart: jobs that call the target in each second.
func storyValues(target string, jobs int) string {
	var b strings.Builder
	b.WriteString("image: {repository: rota, tag: dev, pullPolicy: Never}\ncertificates: {apiServers: [\"https://$(HOST_IP):36443\"]}\n")
	b.WriteString("settings: {worker: {http: {allow: [" + bridge + "/32]}}, history: {success: 2000}}\njobs:\n  load.yaml: |\n    version: 1\n    jobs:\n")
	for i := range jobs {
		fmt.Fprintf(&b, "      load-%d: {every: 1s, jitter: 1s, missed: all, missed_limit: 1000, overlap: allow, http: {url: %q, method: POST}}\n", i, target)
	}
	return b.String()
}

func seen(requests []history.Effect) map[string]bool {
	jobs := map[string]bool{}
	for _, e := range requests {
		jobs[e.Job] = true
	}
	return jobs
}

// tally compares requests with slots.
type tally struct {
	jobs     int
	from, to time.Time // of the slots; without to

	slots, requests         int
	latest                  time.Duration // from a slot to the arrival of its request; the jitter is at most a second of it
	missed, extra, repeated []string      // runs
}

// count counts all requests. A run is extra if it has one attempt twice, and repeated if it has several attempts.
func (v *tally) count(requests []history.Effect) {
	v.slots, v.requests, v.missed, v.extra, v.repeated = 0, 0, nil, nil, nil
	attempts, first := map[string]map[int]int{}, map[string]time.Time{}
	for _, e := range requests {
		if at, known := first[e.Run]; !known || e.Arrived.Before(at) {
			first[e.Run] = e.Arrived
		}
		if attempts[e.Run] == nil {
			attempts[e.Run] = map[int]int{}
		}
		attempts[e.Run][e.Attempt]++
		v.requests++
	}
	for i := range v.jobs {
		for at := v.from; at.Before(v.to); at = at.Add(time.Second) {
			v.slots++
			run := fmt.Sprintf("load-%d/%s", i, at.UTC().Format(time.RFC3339))
			if len(attempts[run]) == 0 {
				v.missed = append(v.missed, run)
			}
			v.latest = max(v.latest, first[run].Sub(at))
		}
	}
	for run, each := range attempts {
		if len(each) > 1 {
			v.repeated = append(v.repeated, run)
		}
		for _, n := range each {
			if n > 1 {
				v.extra = append(v.extra, run)
			}
		}
	}
}
