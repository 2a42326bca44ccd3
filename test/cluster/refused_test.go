package cluster

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestRefusedRequestsStarveNobody sends requests with wrong tokens as fast as the machine can, to the only replica. It counts slots:
// each slot of the flood runs, and none is skipped. The refusals write nothing to the store, and only a few lines to the log.
func TestRefusedRequestsStarveNobody(t *testing.T) {
	row(t)
	const (
		jobs    = 20
		clients = 32
		flood   = 15 * time.Second
	)
	ledger, dir := NewLedger(t), t.TempDir()
	text, err := exec.CommandContext(t.Context(), binary, "token", "create", "harness", "--role", "admin", "--offline").Output()
	if err != nil {
		t.Fatal(err)
	}
	token, entry, _ := strings.Cut(string(text), "\n")
	_, entry, _ = strings.Cut(entry, "auth.file:\n")
	roles, own := filepath.Join(dir, "auth.yaml"), filepath.Join(dir, "token")
	for path, text := range map[string]string{roles: "tokens:\n" + entry, own: token} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	specs := map[string]job.Spec{}
	for i := range jobs {
		specs[fmt.Sprintf("tick-%d", i)] = job.Spec{Shell: ledger.Shell(""), Every: job.Duration(time.Second)}
	}
	c := Start(t, Config{
		Binary: binary, Replicas: 1, TokenFile: own, Jobs: specs,
		Flags: func(string) []string { return []string{"--auth-mode=required", "--auth-file=" + roles} },
	})
	etcd := Dial(t, c.Endpoints())
	others := func() int64 { // records that no run needs
		t.Helper()
		n := int64(0)
		for _, kind := range []string{"audit/", "tokens/", "sessions/", "jobs/"} {
			resp, err := etcd.Get(t.Context(), Prefix+"/"+kind, clientv3.WithPrefix(), clientv3.WithCountOnly())
			if err != nil {
				t.Fatal(err)
			}
			n += resp.Count
		}
		return n
	}
	before, lines := others(), strings.Count(c.Replicas()[0].Log(), "wrong proof of identity")

	// The token has the right form and an unknown id, so it costs what a genuine one costs.
	text, err = exec.CommandContext(t.Context(), binary, "token", "create", "stranger", "--role", "admin", "--offline").Output()
	if err != nil {
		t.Fatal(err)
	}
	wrong, _, _ := strings.Cut(string(text), "\n")
	var refused, other atomic.Int64
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	defer transport.CloseIdleConnections()
	began := time.Now()
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for time.Since(began) < flood {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.Replicas()[0].URL+"/v1/jobs", nil)
				if err != nil {
					t.Error(err)
					return
				}
				req.Header.Set("Authorization", "Bearer "+wrong)
				res, err := transport.RoundTrip(req)
				if err != nil || res.StatusCode != http.StatusUnauthorized {
					other.Add(1)
				} else {
					refused.Add(1)
				}
				if err == nil {
					res.Body.Close()
				}
			}
		})
	}
	wg.Wait()
	end := time.Now()
	rate := float64(refused.Load()) / end.Sub(began).Seconds()
	if refused.Load() < 1000 || other.Load() > 0 {
		t.Errorf("%d requests were refused and %d were not: the flood is none", refused.Load(), other.Load())
	}
	if after := others(); after != before {
		t.Errorf("the refusals changed the number of records from %d to %d", before, after)
	}
	slots, ran := 0, 0
	for at := began.Truncate(time.Second).Add(time.Second); at.Before(end.Add(-2 * time.Second)); at = at.Add(time.Second) {
		slots += jobs
	}
	for name := range specs {
		for _, r := range c.Recorder.Runs(name) {
			if r.Slot.After(began) && r.Slot.Before(end.Add(-2*time.Second).Truncate(time.Second).Add(time.Second)) && r.State == job.Succeeded {
				ran++
			}
		}
	}
	written := strings.Count(c.Replicas()[0].Log(), "wrong proof of identity") - lines
	t.Logf("%.0f refused requests per second for %v; %d of %d slots ran meanwhile; %d lines in the log", rate, flood, ran, slots, written)
	if ran < slots {
		t.Errorf("%d of %d slots of the flood ran", ran, slots)
	}
	if most := int(flood.Seconds()) * 15; written > most {
		t.Errorf("the refusals wrote %d lines to the log, want at most %d", written, most)
	}
	c.Check(ledger.Effects, nil, nil)
}
