package deploy_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/test/files"
	"github.com/rota-scheduler/rota/test/lacking"
)

// metricName finds the names of rota's metrics in expressions. A colon begins the name of a recording rule.
var metricName = regexp.MustCompile(`\brota_[a-z_]+`)

func TestRulesAndDashboardNameMetricsThatExist(t *testing.T) {
	reference, err := os.ReadFile("../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"alerts.yaml", "alerts_test.yaml", "dashboard.json"} {
		text, err := os.ReadFile(filepath.Join("observability", file))
		if err != nil {
			t.Fatal(err)
		}
		names := metricName.FindAllString(string(text), -1)
		if len(names) == 0 {
			t.Errorf("%s names no metric", file)
		}
		for _, name := range names {
			if base := strings.TrimSuffix(name, "_bucket"); !strings.Contains(string(reference), "`"+base+"`") {
				t.Errorf("%s names %s, which rota does not have", file, name)
			}
		}
	}
}

func TestDashboardHasAnExpressionInEachPanel(t *testing.T) {
	text, err := os.ReadFile("observability/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	if len(board.Panels) == 0 {
		t.Fatal("the dashboard has no panels")
	}
	for _, p := range board.Panels {
		if len(p.Targets) == 0 || p.Targets[0].Expr == "" {
			t.Errorf("panel %q has no expression", p.Title)
		}
	}
}

// runbook finds the pages that alerts link to.
var runbook = regexp.MustCompile(`runbook_url: https://github.com/rota-scheduler/rota/blob/main/(\S+)`)

func TestEachAlertLinksToAPageOfTheDocumentation(t *testing.T) {
	text, err := os.ReadFile("observability/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	links := runbook.FindAllStringSubmatch(string(text), -1)
	if alerts := strings.Count(string(text), "- alert:"); len(links) != alerts {
		t.Errorf("%d of %d alerts have a runbook", len(links), alerts)
	}
	for _, link := range links {
		path, section, _ := strings.Cut(link[1], "#")
		page, err := os.ReadFile(filepath.Join("..", path))
		if err != nil {
			t.Errorf("the runbook %s does not exist: %v", link[1], err)
			continue
		}
		if !strings.Contains(strings.ToLower(string(page)), "\n## "+section+"\n") {
			t.Errorf("the runbook %s has no section %s", path, section)
		}
	}
}

// runbookPage has a section for each alert.
const runbookPage = "../docs/how-to/answer-alerts.md"

func TestEachAlertHasItsOwnSectionWithChecksAndCures(t *testing.T) {
	rules, err := os.ReadFile("observability/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(runbookPage)
	if err != nil {
		t.Fatal(err)
	}
	sections := strings.Split(string(page), "\n## ")[1:]
	alerts := regexp.MustCompile(`- alert: (\w+)\n`).FindAllStringSubmatch(string(rules), -1)
	if len(sections) != len(alerts) {
		t.Errorf("%d sections for %d alerts", len(sections), len(alerts))
	}
	for i, alert := range alerts {
		if i >= len(sections) || !strings.HasPrefix(sections[i], alert[1]+"\n") {
			t.Errorf("alert %s: its section is not in the place that it has among the rules", alert[1])
			continue
		}
		for _, part := range []string{"**Symptoms.**", "```sh\n", "cure"} {
			if !strings.Contains(strings.ToLower(sections[i]), strings.ToLower(part)) {
				t.Errorf("section %s lacks %s", alert[1], part)
			}
		}
	}
}

func TestAlertsFireAsPromtoolSays(t *testing.T) {
	promtool := lacking.Program(t, "promtool", "prometheus")
	for _, args := range [][]string{{"check", "rules", "alerts.yaml"}, {"test", "rules", "alerts_test.yaml"}} {
		cmd := exec.Command(promtool, args...)
		cmd.Dir = "observability"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// jobRules finds the rules about single jobs.
var jobRules = regexp.MustCompile("(?s)```yaml prometheus\n(- alert: .*?)```")

// jobRulesTest has a job that has succeeded once, one that has always failed, and missed slots that a new leader counted first.
const jobRulesTest = `
rule_files: [rules.yaml]
tests:
  - interval: 1m
    input_series:
      - {series: 'rota_job_last_success_timestamp_seconds{job="nightly-backup"}', values: '60x1700'}
      - {series: 'rota_job_consecutive_failures{job="a"}', values: '2x4 3x10'}
      - {series: 'rota_job_skipped_total{job="a",reason="missed",instance="q1"}', values: '_x10 4x1700'}
      - {series: 'rota_job_skipped_total{job="b",reason="missed",instance="q1"}', values: '2x180 3x180'}
      - {series: 'rota_job_skipped_total{job="c",reason="overlap",instance="q1"}', values: '_x10 4x1700'}
    alert_rule_test:
      - {eval_time: 5m, alertname: JobFailsAgainAndAgain, exp_alerts: [{exp_labels: {job: a}}]}
      - {eval_time: 15m, alertname: SlotsWereMissed, exp_alerts: [{exp_labels: {job: a}}, {exp_labels: {job: b}}]}
      - {eval_time: 170m, alertname: SlotsWereMissed, exp_alerts: []}
      - {eval_time: 190m, alertname: SlotsWereMissed, exp_alerts: [{exp_labels: {job: b}}]}
      - {eval_time: 1560m, alertname: BackupDoesNotSucceed, exp_alerts: []}
      - {eval_time: 1562m, alertname: BackupDoesNotSucceed, exp_alerts: [{}]}
`

func TestTheRulesAboutSingleJobsFire(t *testing.T) {
	promtool := lacking.Program(t, "promtool", "prometheus")
	page, err := os.ReadFile("../docs/how-to/monitor.md")
	if err != nil {
		t.Fatal(err)
	}
	rules := jobRules.FindSubmatch(page)
	if rules == nil {
		t.Fatal("the page has no rules about single jobs")
	}
	group := "groups:\n- name: jobs\n  rules:\n  " + strings.ReplaceAll(string(rules[1]), "\n", "\n  ")
	dir := t.TempDir()
	for file, text := range map[string]string{"rules.yaml": group, "test.yaml": jobRulesTest} {
		files.Write(t, filepath.Join(dir, file), text)
	}
	cmd := exec.Command(promtool, "test", "rules", "test.yaml")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}
