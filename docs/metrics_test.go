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
