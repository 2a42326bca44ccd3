package node

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/test/proxy"
)

// readyz returns the answer of a process's readiness probe.
func (r *running) readyz(t testing.TB) (text string, ready bool) {
	t.Helper()
	resp, err := http.Get(r.Servers()[0] + "/readyz?verbose")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b), resp.StatusCode == http.StatusOK
}

// TestASilentNetworkIsNotReady cuts processes off from etcd. Within a minute each of the named checks fails. After the connection
// is back, all of them succeed again.
func TestASilentNetworkIsNotReady(t *testing.T) {
	t.Parallel()
	endpoint := etcd(t)
	for name, tc := range map[string]struct {
		role   Role
		checks []string
	}{
		"replica": {Replica, []string{"store", "watch", "orders"}},
		"worker":  {WorkerOnly, []string{"store", "presence", "orders"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := proxy.NewLink(t, endpoint)
			set := outside(t, name, l.Endpoint())
			set.Etcd.Prefix = "/" + name
			r := start(t, Config{Role: tc.role, Settings: set, Version: version})
			text, _ := r.readyz(t)
			for _, check := range tc.checks {
				if !strings.Contains(text, "[+]"+check+" ok") {
					t.Errorf("before: %s is not ok:\n%s", check, text)
				}
			}
			l.Cut()
			began := time.Now()
			// The sleep is the interval of the poll.
			for missing := tc.checks; len(missing) > 0; time.Sleep(200 * time.Millisecond) {
				var ready bool
				if text, ready = r.readyz(t); !ready && strings.Contains(text, "[-]"+missing[0]+" failed: ") {
					missing = missing[1:]
				}
				if time.Since(began) > time.Minute {
					t.Fatalf("%s is still ok after a minute:\n%s", missing[0], text)
				}
			}
			if l.Held() == 0 {
				t.Error("the cut did not bite")
			}
			l.Heal()
			eventually(t, "it is ready again", func() bool { _, ready := r.readyz(t); return ready })
		})
	}
}
