package docs_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/test/docpage"
)

// metric finds the name and the help text of each metric, for every constructor of a metric.
var metric = regexp.MustCompile(`(HistogramOpts\{\s*)?(?:Name:\s*)?"(rota_[a-z_]+)",\s*(?:Help:\s*)?"([^"]+)"`)

// TestMetricsReference compares the table of metrics with the names and help texts in the code.
func TestMetricsReference(t *testing.T) {
	var rows []string
	sources(t, func(_, text string) {
		for _, m := range metric.FindAllStringSubmatch(text, -1) {
			kind := "gauge"
			switch {
			case m[1] != "":
				kind = "histogram"
			case strings.HasSuffix(m[2], "_total"):
				kind = "counter"
			}
			rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |", m[2], kind, m[3]))
		}
	}, "cmd/rota/internal/metrics")
	slices.Sort(rows)
	const page = "reference/metrics.md"
	docpage.Check(t, page, "metrics", "| metric | type | meaning |\n|---|---|---|\n"+strings.Join(rows, "\n"), *update)
	same(t, page, firstCells(t, page, "# Metrics"), matches(t, `"(rota_[a-z_]+)"`, "cmd/rota/internal/metrics"))
}

// TestEachLabelOfAMetricIsDescribed looks for a row of each label that the code gives to a metric.
func TestEachLabelOfAMetricIsDescribed(t *testing.T) {
	const page = "reference/metrics.md"
	_, table, _ := strings.Cut(read(t, page), "\n## Labels\n")
	table, _, _ = strings.Cut(table, "\n## ")
	described := make(map[string]bool) // by metric and label
	for row := range strings.Lines(table) {
		if cells := strings.Split(row, "|"); len(cells) > 3 {
			for _, name := range quoted.FindAllStringSubmatch(cells[1], -1) {
				for _, label := range quoted.FindAllStringSubmatch(cells[2], -1) {
					described[name[1]+" "+label[1]] = true
				}
			}
		}
	}
	found, word := 0, regexp.MustCompile(`"(rota_[a-z_]+)"|\[\]string\{([^}]*)\}`)
	sources(t, func(_, text string) {
		name := ""
		for _, m := range word.FindAllStringSubmatch(text, -1) {
			if m[1] != "" {
				name = m[1]
				continue
			}
			for _, l := range regexp.MustCompile(`"([a-z]+)"`).FindAllStringSubmatch(m[2], -1) {
				label := l[1]
				group := strings.HasPrefix(name, "rota_job_") && described["rota_job_… "+label]
				if found++; !described[name+" "+label] && !group {
					t.Errorf("%s does not describe the label %s of %s", page, label, name)
				}
			}
		}
	}, "cmd/rota/internal/metrics")
	if found == 0 {
		t.Error("the code gives no metric a label")
	}
}
