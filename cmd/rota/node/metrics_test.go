package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// metricNames are the names of all metrics, those included that have labels and no value yet.
func metricNames(t *testing.T) (names []string) {
	t.Helper()
	n := &Node{cfg: Config{Version: version}, now: time.Now}
	n.backend = &backend{node: n}
	m := newMetrics(n)
	m.Ended(&job.Run{Job: "x"}, &job.Outcome{State: job.Succeeded}, time.Second)
	m.Decided(job.Decision{}, job.Applied{}, time.Time{})
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		names = append(names, f.GetName())
	}
	return names
}

func TestMetricNames(t *testing.T) {
	for _, name := range metricNames(t) {
		if !strings.HasPrefix(name, "rota_") && !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") {
			t.Errorf("%s does not begin with rota_", name)
		}
	}
}

func TestMetricsAreDocumented(t *testing.T) {
	page := filepath.Join("..", "..", "..", "docs", "operations.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Skipf("no page to compare with: %v", err)
	}
	for _, name := range metricNames(t) {
		if strings.HasPrefix(name, "rota_") && !strings.Contains(string(text), "`"+name) {
			t.Errorf("%s is not in %s", name, page)
		}
	}
}
