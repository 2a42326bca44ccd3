package node

import (
	"bufio"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// metric returns the value of a metric without labels.
func (r *running) metric(t testing.TB, name string) float64 {
	t.Helper()
	resp, err := http.Get(r.Servers()[0] + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			v, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}
