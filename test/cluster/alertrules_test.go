package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		if os.Getenv("ROTA_CI") == "1" {
			t.Fatal("promtool is missing: apt install prometheus")
		}
		t.Skip("NOT TESTED: promtool is missing: apt install prometheus")
	}
	ledger := NewLedger(t)
	second := job.Duration(time.Second)
	c := Start(t, Config{Binary: binary, Jobs: map[string]job.Spec{
		"tick": {Every: second, Missed: job.MissedAll, Shell: ledger.Shell("")},
		"slow": {Every: second, Missed: job.MissedAll, Overlap: job.OverlapAllow, Shell: ledger.Shell("sleep 4")},
		"broken": {Every: second, Shell: "false", Breaker: &job.Breaker{
			Window: 5, FailureRatio: 0.5, OpenFor: job.Duration(10 * time.Minute),
		}},
		"long": {Shell: ledger.Shell("sleep 120"), Overlap: job.OverlapAllow, Workers: only("w1"), KillGrace: second},
	}})
	worker := c.AddWorker("w1", "--worker-capacity=1", "--worker-labels=for=w1")
	tape := &metricsTape{cluster: c}

	tape.record("healthy", 20, func(m sample) bool { return m.calm() && m.sum("rota_runs_waiting") == 0 })
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
		return m.calm() && m.sum("rota_attempts_given_up_total") > 0 && m.sum("rota_runs_waiting") == 0
	}, "RotaAttemptsGivenUp", "RotaBreakerOpen", "RotaReplicaDown")
	dead := c.replicas[1:]
	over := c.Outage()
	for _, n := range dead {
		n.Kill()
	}
	tape.record("the majority is lost", 15, func(m sample) bool {
		return m.sum("rota_leader") == 0 && m.sum("rota_outcomes_unsent") > 0
	}, "RotaNobodyLeads", "RotaOutcomesUnsent", "RotaReplicaDown")
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
		return m.calm() && m.sum("rota_runs_waiting") == 0 && m.sum("rota_breaker_open") == 1
	}, "RotaBreakerOpen", "RotaReplicaDown") // the worker is still down

	tape.check(promtool)
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
		j.Effects = j.Name != "broken"
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

// sample has the metrics of all processes at one time, as Prometheus would store them.
type sample map[string]float64

// sum adds the values of a metric over all processes and labels.
func (s sample) sum(name string) (total float64) {
	for series, v := range s {
		if strings.HasPrefix(series, name+"{") {
			total += v
		}
	}
	return total
}

// calm reports whether one replica leads and keeps up, and every outcome is in the store.
func (s sample) calm() bool {
	return s.sum("rota_leader") == 1 && s.sum("rota_dispatch_behind_seconds") < 1 && s.sum("rota_outcomes_unsent") == 0
}

// metricsTape holds one sample for each state of the cluster, and how many minutes the state shall last for the rules.
type metricsTape struct {
	cluster *Cluster
	phases  []phase
}

type phase struct {
	name    string
	minutes int
	sample  sample
	alerts  []string // that fire at its end
}

// record waits for a state, and adds its sample. alerts are those that must fire at its end, sorted.
func (m *metricsTape) record(name string, minutes int, is func(sample) bool, alerts ...string) {
	m.cluster.t.Helper()
	var last sample
	if !Within(time.Minute, func() bool { last = m.scrape(); return is(last) }) {
		for _, series := range slices.Sorted(maps.Keys(last)) {
			if !strings.Contains(series, "_bucket{") {
				m.cluster.t.Logf("%s %v", series, last[series])
			}
		}
		m.cluster.t.Fatalf("not within a minute: %s", name)
	}
	m.phases = append(m.phases, phase{name, minutes, last, alerts})
}

// scrape reads the metrics of all processes.
func (m *metricsTape) scrape() sample {
	s := sample{}
	for _, n := range m.cluster.nodes {
		own := fmt.Sprintf(`job="rota",instance=%q`, n.Name)
		text, err := scrape(m.cluster.t.Context(), n.URL+"/metrics")
		s["up{"+own+"}"] = 0
		if err != nil {
			continue
		}
		s["up{"+own+"}"] = 1
		for line := range strings.Lines(text) {
			series, value, ok := strings.Cut(strings.TrimSpace(line), " ")
			if i := strings.LastIndex(line, " "); strings.Contains(line, "{") && i > 0 { // a label may contain a space
				series, value = line[:i], strings.TrimSpace(line[i:])
			}
			v, err := strconv.ParseFloat(value, 64)
			if !ok || err != nil || !strings.HasPrefix(series, "rota_") {
				continue
			}
			name, labels, _ := strings.Cut(strings.TrimSuffix(series, "}"), "{")
			if labels != "" {
				labels = "," + labels
			}
			s[name+"{"+own+strings.ReplaceAll(labels, `job="`, `exported_job="`)+"}"] = v
		}
	}
	return s
}

func scrape(ctx context.Context, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return string(text), err
}

// check lets promtool evaluate the shipped rules on the samples, and compares the alerts that fire.
func (m *metricsTape) check(promtool string) {
	t := m.cluster.t
	t.Helper()
	rules, err := filepath.Abs("../../deploy/observability/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, p := range m.phases {
		for series := range p.sample {
			all[series] = true
		}
	}
	var input, tests []any
	for series := range all {
		var values []string
		for _, p := range m.phases {
			v, ok := p.sample[series]
			text := strconv.FormatFloat(v, 'g', -1, 64)
			if !ok {
				text = "_"
			}
			values = append(values, slices.Repeat([]string{text}, p.minutes)...)
		}
		input = append(input, map[string]any{"series": series, "values": strings.Join(values, " ")})
	}
	minute := 0
	for _, p := range m.phases {
		minute += p.minutes
		var want []any
		for _, name := range p.alerts {
			want = append(want, map[string]any{"labels": fmt.Sprintf("{alertname=%q}", name), "value": 1})
		}
		tests = append(tests, map[string]any{
			"expr": `group by (alertname) (ALERTS{alertstate="firing"})`, "eval_time": fmt.Sprintf("%dm", minute-1), "exp_samples": want,
		})
	}
	text, err := json.Marshal(map[string]any{
		"rule_files": []string{rules}, "evaluation_interval": "1m",
		"tests": []any{map[string]any{"interval": "1m", "input_series": input, "promql_expr_test": tests}},
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(m.cluster.Dir, "alerts.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(promtool, "test", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("alerts of a real cluster: %v\n%s", err, out)
	}
	t.Logf("%d series of %d states", len(all), len(m.phases))
}
