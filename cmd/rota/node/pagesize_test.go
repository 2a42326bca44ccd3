package node

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// maxPage is how many bytes a page sends at most.
const maxPage = 200_000

// maxPageTime is how long a replica takes for a page at most. Other programs disturb a measurement, so the fastest of up to pageTries
// counts, and the processor time of the process if that is less.
const (
	maxPageTime = 100 * time.Millisecond
	pageTries   = 12
)

// processorTime returns the processor time that this process has used.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestPagesStaySmall counts the bytes of each page of a cluster with 100,000 jobs, and the time that the replica takes for it. The
// first jobs have long histories, and a thousand fail.
func TestPagesStaySmall(t *testing.T) {
	jobs := 100_000
	if raceEnabled || testing.Short() {
		jobs = 2_000
	}
	set := settings(t, "q1")
	set.Worker.Enabled = false // runs only wait, so that the lists do not change much
	r := start(t, Config{Settings: set, Version: version})
	r.lead(t)
	const first = "job-000000-with-a-name-as-long-as-teams-give-it-in-practice-0001"
	name := func(i int) string { return fmt.Sprintf("job-%06d-%s", i, first[11:63]) }
	r.define(t, map[string]job.Spec{name(0): {
		Description: strings.Repeat("Copies the orders of the day to the warehouse. ", 4), Schedule: []string{"7 3 * * *"}, Shell: "true",
		Labels: map[string]string{"team": "warehouse"}, Timezone: "Europe/Berlin",
	}})
	got, err := r.node.client.Get(t.Context(), "/rota/jobs/"+name(0))
	if err != nil || len(got.Kvs) != 1 {
		t.Fatalf("read a definition: %v, %v", got, err)
	}
	text := string(got.Kvs[0].Value)
	var puts []clientv3.Op
	flush := func(all bool) {
		for len(puts) >= 100 || all && len(puts) > 0 {
			n := min(100, len(puts))
			if _, err := r.node.client.Txn(t.Context()).Then(puts[:n]...).Commit(); err != nil {
				t.Fatal(err)
			}
			puts = puts[n:]
		}
	}
	for i := 1; i < jobs; i++ {
		schedule := fmt.Sprintf("%d %d * * *", i%60, i/60%24)
		if i < 60 {
			schedule = "* * * * *"
		}
		puts = append(puts, clientv3.OpPut("/rota/jobs/"+name(i), strings.NewReplacer(name(0), name(i), "7 3 * * *", schedule).Replace(text)))
		flush(false)
	}
	now := time.Now().UTC().Truncate(time.Minute)
	for i := range 1000 {
		kept := 1
		if i < 60 {
			kept = 100
		}
		for k := range kept {
			run := job.Run{
				Job: name(i), Kind: job.KindScheduled, State: job.Succeeded, Slot: now.Add(-time.Duration(k+1) * time.Minute),
				Attempt: 1, Worker: "worker-7.warehouse.internal", Generation: 1,
			}
			if k%5 == 0 {
				run.State, run.Reason = job.Failed, "exit code 1: the warehouse does not answer, and the orders of the day stay where they are"
			}
			run.ID, run.Due, run.Created = job.SlotID(run.Slot), run.Slot, run.Slot
			run.Started, run.Finished = run.Slot.Add(1500*time.Millisecond), run.Slot.Add(31*time.Second)
			record, err := json.Marshal(run)
			if err != nil {
				t.Fatal(err)
			}
			puts = append(puts, clientv3.OpPut("/rota/runs/"+run.Name(), string(record)))
			flush(false)
		}
	}
	flush(true)
	count := regexp.MustCompile(`<h2>Jobs <span class="muted">` + fmt.Sprint(jobs) + `</span>`)
	eventually(t, "the page knows all jobs", func() bool { return count.MatchString(r.read(t, "/")) })

	run := "/runs/" + name(1) + "/" + url.PathEscape(job.SlotID(now.Add(-time.Minute)))
	t.Logf("%-28s %10s %12s   with %d jobs", "page", "bytes", "fastest", jobs)
	for _, path := range []string{
		"/", "/jobs", "/jobs?search=warehouse&state=failing", "/jobs/" + name(1), "/jobs/" + name(1) + "/workflow", run, "/runs", "/timeline?span=15m",
		"/timeline", "/timeline?span=6h", "/timeline?span=1d", "/timeline?span=7d", "/timeline?search=job-0000&span=6h", "/timeline/week",
		"/workers", "/limits", "/calendars", "/cluster", "/tokens", "/events", "/audit", "/api", "/do/new", "/do/run?job=" + name(1),
		"/jobs?selector=team%3Dwarehouse", "/runs?selector=team%3Dwarehouse", "/jobs/" + name(1) + "/at?time=2026-01-01T00:00:00Z",
		"/schedule?schedule=90s", "/do/apply", "/do/backfill?job=" + name(1), "/do/pause-jobs?jobs=" + name(1), "/do/command", "/do/token",
	} {
		fastest, size := time.Hour, 0
		for try := range pageTries {
			if try >= 3 && fastest <= maxPageTime {
				break
			}
			begin, used := time.Now(), processorTime(t)
			size = len(r.read(t, path))
			fastest = min(fastest, time.Since(begin), processorTime(t)-used)
		}
		t.Logf("%-28.28s %10d %12v", strings.ReplaceAll(path, first[11:63], "…"), size, fastest.Round(100*time.Microsecond))
		if size > maxPage {
			t.Errorf("%s has %d bytes, want at most %d", path, size, maxPage)
		}
		if fastest > maxPageTime && !raceEnabled {
			t.Errorf("%s takes %v, want at most %v", path, fastest, maxPageTime)
		}
	}
}

// TestActiveRunsAreNamedUpToABound submits more delayed runs than a job names. Those that are due first are named.
func TestActiveRunsAreNamedUpToABound(t *testing.T) {
	t.Parallel()
	r := start(t, Config{Settings: settings(t, "q1"), Version: version})
	r.lead(t)
	r.put(t, "mail", job.Spec{Shell: "true"})
	const runs = api.MaxActive + 20
	for i := range runs {
		req := api.RunRequest{Key: fmt.Sprint(i), In: fmt.Sprintf("%dm", 60+(i*7)%runs)}
		if _, _, err := r.Submit(t.Context(), "mail", req); err != nil {
			t.Fatal(err)
		}
	}
	v, err := r.Job(t.Context(), "mail")
	if err != nil || len(v.Active) != api.MaxActive || v.ActiveRuns != runs {
		t.Fatalf("got %d names, %d runs, %v, want %d and %d", len(v.Active), v.ActiveRuns, err, api.MaxActive, runs)
	}
	var last time.Time
	for _, ref := range v.Active {
		run, err := r.Run(t.Context(), ref)
		if err != nil || run.Due.Before(last) {
			t.Fatalf("run %s is due at %v, after one at %v, %v", ref, run.Due, last, err)
		}
		last = run.Due
	}
	if limit := time.Now().Add((60 + api.MaxActive) * time.Minute); last.After(limit) {
		t.Errorf("the last named run is due at %v: it is not one of the first %d", last, api.MaxActive)
	}
}
