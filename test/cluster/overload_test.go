package cluster

import (
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/planner"
	"github.com/rota-scheduler/rota/test/history"
)

// TestOverload gives three replicas ten times the load that their workers can bear, while other programs use the CPU. Queues
// stay bounded, waiting runs state the reason, jobs with a higher priority go first, and leases survive. Afterwards every
// accepted run has run once.
func TestOverload(t *testing.T) {
	row(t)
	t.Parallel()
	const (
		capacity = 2 // of each of three workers
		lasts    = time.Second
		bulk     = 10 * 3 * capacity // jobs, one run a second each
		urgent   = 3
		overload = 9 * time.Second
		schedule = 30 * time.Second // including the start and the recovery
	)
	sink := NewSink(t)
	sink.Delay(lasts)
	end := time.Now().Add(schedule)
	post := job.Spec{
		Every: job.Duration(time.Second), End: &end, Missed: job.MissedAll, HTTP: &job.HTTP{URL: sink.URL(), Method: "POST"},
		Timeout: job.Duration(30 * time.Second),
	}
	jobs := make(map[string]job.Spec)
	for i := range bulk {
		spec := post
		if i%2 == 1 {
			spec.Overlap = job.OverlapAllow // these runs queue; slots of other jobs are skipped while one waits
		}
		jobs[fmt.Sprintf("bulk-%03d", i)] = spec
	}
	for i := range urgent {
		spec := post
		spec.Priority = 100
		jobs[fmt.Sprintf("urgent-%d", i)] = spec
	}
	sink.AnswerBy(func(e history.Effect) (time.Duration, int) {
		if strings.HasPrefix(e.Job, "urgent-") {
			return 0, 204
		}
		return lasts, 204
	})
	c := Start(t, Config{Binary: binary, Jobs: jobs, Flags: func(string) []string {
		return []string{fmt.Sprintf("--worker-capacity=%d", capacity)}
	}})
	leader, term, sessions := c.Leader(), termOf(c), workerSessions(c)
	began := time.Now()
	hogs := startHogs(t, 4)
	Let(overload)
	over := time.Now()
	waiting, reasons := 0, make(map[string]int)
	for _, r := range c.Recorder.Runs("") {
		if r.State == job.Pending {
			waiting++
			reasons[r.Reason]++
		}
	}
	t.Logf("%d requests in %v; %d runs wait: %v", len(sink.Requests()), overload, waiting, reasons)
	if waiting < 5*3*capacity {
		t.Errorf("%d runs wait, with room for %d: there is no overload", waiting, 3*capacity)
	}
	if unsaid := reasons[""]; unsaid > 3*capacity {
		t.Errorf("%d of %d runs that wait do not say why", unsaid, waiting)
	}
	if now := c.Leader(); now != leader || termOf(c) != term && term != 0 {
		t.Errorf("%s led in term %d, and now %s in %d: the overload cost a lease", leader.Name, term, now.Name, termOf(c))
	}
	if now := workerSessions(c); now != sessions {
		t.Errorf("sessions of workers were %s, and are %s: the overload cost a lease", sessions, now)
	}
	for _, hog := range hogs {
		hog()
	}
	for i := range urgent {
		name := fmt.Sprintf("urgent-%d", i)
		n := len(succeeded(c, name).between(began, over))
		if want := int(overload.Seconds()) / 2; n < want {
			t.Errorf("%s ran %d times in %v of overload, want at least %d: it is starved", name, n, overload, want)
		}
	}
	sink.AnswerBy(func(history.Effect) (time.Duration, int) { return 0, 204 })
	c.AwaitEnd(schedule + time.Minute)
	c.Judge(sink.Requests(), nil, nil)
	for name, spec := range jobs {
		most := 1
		if spec.Overlap == job.OverlapAllow {
			most = planner.MaxQueued
		}
		if n := mostWaiting(c, name); n > most {
			t.Errorf("%d runs of %s waited at a time, want at most %d: the queue is not bounded", n, name, most)
		}
		if strings.HasPrefix(name, "bulk-") && len(c.Recorder.Runs(name)) == 0 {
			t.Errorf("%s never ran", name)
		}
	}
}

// mostWaiting returns the largest number of runs of a job that waited for a worker at one time. An empty name stands for all jobs.
func mostWaiting(c *Cluster, name string) (most int) {
	of := Prefix + "/runs/"
	if name != "" {
		of += name + "/"
	}
	waits := make(map[string]bool)
	for _, v := range c.Recorder.Versions() {
		if !strings.HasPrefix(v.Key, of) {
			continue
		}
		if r, ok := decode[job.Run](v, "runs/"); ok && r.State == job.Pending {
			waits[v.Key] = true
		} else {
			delete(waits, v.Key)
		}
		most = max(most, len(waits))
	}
	return most
}

// workerSessions returns the sessions of all workers in one line.
func workerSessions(c *Cluster) string {
	var ws []api.WorkerView
	Await(c.t, 20*time.Second, "the API reports workers", func() (done bool) {
		var err error
		ws, err = c.Client.Workers(c.t.Context())
		return err == nil
	})
	var list []string
	for _, w := range ws {
		list = append(list, w.Name+":"+w.Session)
	}
	return strings.Join(list, " ")
}

// startHogs starts processes that compute without end, and returns functions that end them.
func startHogs(t *testing.T, n int) (end []func()) {
	t.Helper()
	for range n {
		cmd := exec.Command("sh", "-c", "while :; do :; done")
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := start()(cmd); err != nil {
			t.Fatal(err)
		}
		stop := func() {
			_ = cmd.Process.Kill() // it may have ended before
			_ = cmd.Wait()
		}
		t.Cleanup(stop)
		end = append(end, stop)
	}
	return end
}
