package cluster

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
)

// TestAlertsOfARealCluster causes faults, and feeds what the cluster's /metrics say in each of them to the shipped rules. Exactly
// the alerts of the fault fire. It also runs the commands of docs/how-to/answer-alerts.md.
func TestAlertsOfARealCluster(t *testing.T) {
	row(t)
	ledger := NewLedger(t)
	second := job.Duration(time.Second)
	var refuses atomic.Bool
	team := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if refuses.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(team.Close)
	jobs := map[string]job.Spec{
		"tick": {Every: second, Missed: job.MissedAll, Shell: ledger.Shell("")},
		"slow": {Every: second, Missed: job.MissedAll, Overlap: job.OverlapAllow, Shell: ledger.Shell("sleep 4")},
		"broken": {Every: second, Shell: "false", Breaker: &job.Breaker{
			Window: 5, FailureRatio: 0.5, OpenFor: job.Duration(10 * time.Minute),
		}},
		"long": {Shell: ledger.Shell("sleep 120"), Overlap: job.OverlapAllow, Workers: only("w1"), KillGrace: second},
	}
	for i := range 3 { // each address has a queue of its own
		jobs[fmt.Sprint("failed-", i)] = job.Spec{
			Shell: "false", Notify: job.Notify{"team": {URL: fmt.Sprintf("generic+%s/%d", team.URL, i), Repeat: 1}},
		}
	}
	c := Start(t, Config{Binary: binary, Jobs: jobs})
	fail := func() {
		t.Helper()
		for i := range 3 {
			submit(t, c, fmt.Sprint("failed-", i), api.RunRequest{})
		}
	}
	// Its breaker would open too early on a slow machine.
	if _, err := c.Client.PauseJob(t.Context(), "broken", "it fails later"); err != nil {
		t.Fatal(err)
	}
	worker := c.AddWorker("w1", "--worker-capacity=1", "--worker-labels=for=w1")
	tape := &metricsTape{cluster: c}

	fail()
	tape.record("healthy", 20, func(m sample) bool {
		return m.calm() && m.sum("rota_runs_waiting") == 0 && m.notifications("sent") == 3
	})
	refuses.Store(true)
	fail()
	tape.record("a notifier fails", 10, func(m sample) bool { return m.calm() && m.notifications("repeated") > 5 }, "RotaNotificationsFail")
	refuses.Store(false)
	if _, err := c.Client.ResumeJob(t.Context(), "broken", ""); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, _, err := c.Client.Submit(t.Context(), "long", api.RunRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	tape.record("no room, and a breaker", 25, func(m sample) bool {
		return m.calm() && m.sum("rota_runs_waiting") >= 2 && m.sum("rota_breaker_open") == 1
	}, "RotaBreakerOpen", "RotaRunsWait")
	for title, commands := range runbook(t) {
		for _, line := range commands {
			// 1: rota doctor finds something. 3: there is no incident yet. 7: something needs attention.
			if out, code := c.operate(line); !slices.Contains([]int{0, 1, 3, 7}, code) {
				t.Errorf("%s: %s: exit code %d\n%s", title, line, code, out)
			}
		}
	}
	worker.Kill()
	tape.record("a worker is lost", 8, func(m sample) bool {
		return m.calm() && m.sum("rota_attempts_given_up_total") > 0 && m.sum("rota_runs_waiting") == 0 &&
			m.sum("rota_runs_unmatched") > 0
	}, "RotaAttemptsGivenUp", "RotaBreakerOpen", "RotaReplicaDown", "RotaRunsUnmatched")
	dead := c.replicas[1:]
	over := c.Outage()
	for _, n := range dead {
		n.Kill()
	}
	tape.record("the majority is lost", 15, func(m sample) bool {
		return m.sum("rota_leader") == 0 && m.sum("rota_outcomes_unsent") > 0
	}, "RotaNobodyLeads", "RotaNotReady", "RotaOutcomesUnsent", "RotaReplicaDown")
	for _, line := range runbook(t)["RotaNobodyLeads"] {
		out, code := c.operate(line)
		t.Logf("%s: exit code %d\n%s", line, code, out)
		if strings.HasSuffix(line, "status") && (code != 7 || !strings.Contains(out, "the majority is lost")) {
			t.Errorf("%s: exit code %d\n%s\nwant 7, and the majority", line, code, out)
		}
	}
	for _, n := range dead {
		n.Start()
	}
	c.WaitReady()
	over()
	tape.record("recovered", 15, func(m sample) bool {
		return m.calm() && m.sum("rota_runs_waiting") == 0 && m.sum("rota_breaker_open") == 1 && m.sum("rota_runs_unmatched") > 0
	}, "RotaBreakerOpen", "RotaReplicaDown", "RotaRunsUnmatched") // the worker is still down

	tape.check()
	for _, name := range []string{"broken", "long"} { // the breaker is open for longer than the test, and the worker is gone
		if _, err := c.Client.PauseJob(t.Context(), name, "the test is over"); err != nil {
			t.Fatal(err)
		}
		c.Recorder.Sync()
		for id, r := range c.Recorder.Runs(name) {
			if r.State.Terminal() {
				continue
			}
			if _, err := c.Client.Cancel(t.Context(), r.Name(), "the test is over"); err != nil {
				t.Errorf("cancel %s: %v", id, err)
			}
		}
	}
	c.Check(ledger.Effects, nil, func(j *history.Job) {
		j.MayFail = true
		j.Effects = j.Name != "broken" && !strings.HasPrefix(j.Name, "failed-")
	})
}

// operate runs a command of a page against the cluster.
func (c *Cluster) operate(line string) (out string, code int) {
	c.t.Helper()
	var urls []string
	for _, n := range c.replicas {
		urls = append(urls, n.URL)
	}
	cmd := exec.Command(c.cfg.Binary, strings.Fields(line)[1:]...)
	cmd.Env = append(os.Environ(), "ROTA_SERVER="+strings.Join(urls, ","))
	text, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		c.t.Fatalf("run %s: %v", line, err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// runbook returns the commands in each section of docs/how-to/answer-alerts.md.
func runbook(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/how-to/answer-alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		title, rest, _ := strings.Cut(section, "\n")
		for line := range strings.Lines(rest) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "rota ") {
				found[title] = append(found[title], line)
			}
		}
		if len(found[title]) == 0 {
			t.Errorf("section %s has no command", title)
		}
	}
	return found
}

// TestEachAlertFiresOnRealSeries compares the shipped alerts with those for which the tests of this package record series.
func TestEachAlertFiresOnRealSeries(t *testing.T) {
	rules, err := os.ReadFile("../../deploy/observability/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(text)
	}
	for line := range strings.Lines(string(rules)) {
		if _, name, ok := strings.Cut(line, "- alert: "); ok && !strings.Contains(tests.String(), strconv.Quote(strings.TrimSpace(name))) {
			t.Errorf("no test records series on which %s fires", strings.TrimSpace(name))
		}
	}
}
