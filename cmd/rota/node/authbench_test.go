package node

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// BenchmarkAuthentication measures what authentication and authorization add to a request. A replica with auth.mode off and one with
// auth.mode required answer each request one after the other, in one process. In half of the pairs, the first one answers first. The
// metric is the mean of the median differences of both halves, so that the order of the two cancels out. At most 5 % is the goal.
func BenchmarkAuthentication(b *testing.B) {
	endpoint := etcd(b)
	follower := func(name string) config.Settings {
		set := outside(b, name, endpoint)
		set.Worker.Enabled = false
		return set
	}
	start(b, Config{Settings: follower("leader"), Version: version}).lead(b) // so that neither of the two has its work
	off := start(b, Config{Settings: follower("off"), Version: version})
	for i := range 100 {
		off.put(b, fmt.Sprintf("j%02d", i), job.Spec{Shell: "true", Workers: map[string]string{"zone": "nowhere"}})
	}
	set := follower("on")
	token := newSecret(b)
	set.Auth = config.Auth{Mode: config.AuthRequired, File: b.TempDir() + "/auth.yaml"}
	entry := fmt.Sprintf("tokens: [{id: %s, sha256: %s, principal: root, role: admin}]\n", token.ID, token.Hash())
	if err := os.WriteFile(set.Auth.File, []byte(entry), 0o600); err != nil {
		b.Fatal(err)
	}
	on := start(b, Config{Settings: set, Version: version})
	for _, o := range []struct{ name, method, path, body string }{
		{"list jobs", http.MethodGet, "/v1/jobs", ""},
		{"submit", http.MethodPost, "/v1/jobs/JOB/runs", `{"key":"KEY"}`},
	} {
		b.Run(o.name, func(b *testing.B) {
			times := map[*running][]time.Duration{}
			send := func(r *running, n int) {
				body := strings.NewReader(strings.ReplaceAll(o.body, "KEY", fmt.Sprintf("%s-%s-%d-%d", r.node.set.Node.Name, o.name, b.N, n)))
				path := strings.ReplaceAll(o.path, "JOB", fmt.Sprintf("j%02d", n%100)) // the runs that wait of one job are bounded
				req, err := http.NewRequestWithContext(b.Context(), o.method, "http://localhost"+path, body)
				if err != nil {
					b.Fatal(err)
				}
				req.RemoteAddr = fmt.Sprintf("127.0.%d.%d:1", n/250%250, n%250) // the rate of one client is bounded
				req.Header.Set("Content-Type", "application/json")
				if r == on {
					req.Header.Set("Authorization", "Bearer "+token.Text())
				}
				w := &discard{header: http.Header{}}
				began := time.Now()
				r.node.server.Handler().ServeHTTP(w, req)
				times[r] = append(times[r], time.Since(began))
				if w.status >= 300 {
					b.Fatalf("got %d", w.status)
				}
			}
			n := 0
			for b.Loop() {
				first, second := off, on
				if n%2 == 1 { // the second request meets the disk in another state than the first one
					first, second = on, off
				}
				send(first, n)
				send(second, n)
				n++
			}
			var added [2][]time.Duration // by the replica that answered first
			for i := range times[off] {
				added[i%2] = append(added[i%2], times[on][i]-times[off][i])
			}
			without := median(times[off])
			if n < 2 {
				return
			}
			b.ReportMetric(50*float64(median(added[0])+median(added[1]))/float64(without), "%added")
			b.ReportMetric(float64(without.Microseconds()), "µs-off")
		})
	}
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}
