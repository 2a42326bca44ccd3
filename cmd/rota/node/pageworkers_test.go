package node

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestThePageSaysWhyAWorkerTakesNoRuns reads the page of the workers. A worker that is broken, or under pressure, does not stop.
func TestThePageSaysWhyAWorkerTakesNoRuns(t *testing.T) {
	t.Parallel()
	r := start(t, Config{Settings: settings(t, "q1"), Version: version})
	r.lead(t)
	for _, w := range []job.Worker{
		{Name: "w1", Broken: "data directory: no space left on device"},
		{Name: "w2", Pressure: "memory pressure 40 %, limit 20 %"},
		{Name: "w3"},
		{Name: "w4", Away: map[string]string{"container": "no engine answers"}},
	} {
		lease, err := r.node.client.Grant(t.Context(), 60)
		if err != nil {
			t.Fatal(err)
		}
		w.Session, w.Started, w.Capacity, w.Draining = strconv.FormatInt(int64(lease.ID), 16), time.Now(), 1, len(w.Away) == 0
		value, err := json.Marshal(w)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.node.client.Put(t.Context(), "/rota/workers/"+w.Name, string(value), clientv3.WithLease(lease.ID)); err != nil {
			t.Fatal(err)
		}
	}
	wants := []string{
		`broken</span> <span class="muted">data directory: no space left on device</span>`,
		`pressure</span> <span class="muted">memory pressure 40 %, limit 20 %</span>`,
		`draining</span></td>`,
		`no container</span> <span class="muted">no engine answers</span>`,
	}
	eventually(t, "the page has all workers and their states", func() bool {
		page := r.read(t, "/workers")
		for _, want := range wants {
			if !strings.Contains(page, want) {
				return false
			}
		}
		return true
	})
}
