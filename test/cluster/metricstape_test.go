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
	"time"

	"github.com/rota-scheduler/rota/test/files"
)

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

// notifications adds the notifications with an outcome over all processes and notifiers.
func (s sample) notifications(outcome string) (total float64) {
	for series, v := range s {
		if strings.HasPrefix(series, "rota_notifications_total{") && strings.HasSuffix(series, `outcome="`+outcome+`"}`) {
			total += v
		}
	}
	return total
}

// calm reports whether one replica leads and keeps up, every process that answers is ready, and every outcome is in the store.
func (s sample) calm() bool {
	return s.sum("rota_leader") == 1 && s.sum("rota_ready") == s.sum("up") &&
		s.sum("rota_dispatch_behind_seconds") < 1 && s.sum("rota_outcomes_unsent") == 0
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
func (m *metricsTape) check() {
	t := m.cluster.t
	t.Helper()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		if os.Getenv("ROTA_CI") == "1" {
			t.Fatal("promtool is missing: apt install prometheus")
		}
		t.Log("NOT TESTED: the alerts, because promtool is missing: apt install prometheus")
		return
	}
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
	file := files.Write(t, filepath.Join(m.cluster.Dir, "alerts.yaml"), text)
	if out, err := exec.Command(promtool, "test", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("alerts of a real cluster: %v\n%s", err, out)
	}
	t.Logf("%d series of %d states", len(all), len(m.phases))
}
