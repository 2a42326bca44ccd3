package page

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/test/docpage"
)

// update makes the pictures and the table of the documentation, as `make pictures` does.
var update = flag.Bool("update", false, "make the pictures and the table of docs")

// The bounds of a page on its first visit. A page loads itself, its style and its script; some load their icon, too.
const (
	maxBytes    = 200_000
	maxRequests = 4
)

// The place of the table of costs.
const (
	tableFile = "../../docs/explanation/performance.md"
	tableName = "the cost of each view, by test/page"
)

// cost is what a view costs its viewer.
type cost struct {
	view            string
	bytes, requests int
	paint           int // milliseconds until the first content is painted
}

// costOf measures the view that is open.
func costOf(b *browser, view string) cost {
	b.t.Helper()
	b.await(5*time.Second, "the first paint of "+view, "performance.getEntriesByName('first-contentful-paint').length")
	text, _ := b.eval(`(() => { const list = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')].filter(e => !e.name.includes('/v1/live'));
		return list.reduce((n, e) => n + e.encodedBodySize, 0) + ' ' + list.length + ' ' + Math.round(performance.getEntriesByName('first-contentful-paint')[0].startTime); })()`).(string)
	c := cost{view: view}
	if _, err := fmt.Sscan(text, &c.bytes, &c.requests, &c.paint); err != nil {
		b.t.Fatalf("measure %s: %q, %v", view, text, err)
	}
	if strings.HasPrefix(view, "/runs/") {
		c.view = "/runs/tick/…"
	}
	if before, _, ok := strings.Cut(view, "?"); ok && before != "/timeline" {
		c.view = before
	}
	return c
}

// checkCosts checks the bounds, and writes the table of the documentation with -update.
func checkCosts(t *testing.T, costs []cost) {
	var table strings.Builder
	table.WriteString("| view | bytes | requests | first contentful paint |\n|---|---|---|---|\n")
	for _, c := range costs {
		if c.bytes > maxBytes || c.requests > maxRequests {
			t.Errorf("%s: got %d bytes in %d requests, want at most %d in %d", c.view, c.bytes, c.requests, maxBytes, maxRequests)
		}
		fmt.Fprintf(&table, "| `%s` | %d | %d | %d ms |\n", c.view, c.bytes, c.requests, c.paint)
	}
	t.Log(table.String())
	if *update {
		docpage.Check(t, tableFile, tableName, table.String(), true)
		return
	}
	block := docpage.Block(t, tableFile, tableName)
	for _, c := range costs {
		if !strings.Contains(block, "| `"+c.view+"` |") {
			t.Errorf("the table in %s lacks %s: make pictures", tableFile, c.view)
		}
	}
}
