package node

import (
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/proxy"
)

// TestADeadWatchIsNotReady kills the watches. The readiness probe fails before the store replaces them, although all other parts
// answer.
func TestADeadWatchIsNotReady(t *testing.T) {
	t.Parallel()
	relay := proxy.NewRelay(t, etcd(t))
	r := start(t, Config{Settings: outside(t, "q1", relay.Endpoint()), Version: version})
	r.lead(t)
	relists := r.metric(t, "rota_store_relists_total")
	if relay.KillWatches() == 0 {
		t.Fatal("there is no watch")
	}
	began := time.Now()
	if _, err := r.node.client.Put(t.Context(), "/rota/queues/q1/x", "what nobody hears of"); err != nil {
		t.Fatal(err)
	}
	r.unready(t, "watch", "orders")
	t.Logf("not ready after %v", time.Since(began).Round(100*time.Millisecond))
	if n := r.metric(t, "rota_store_relists_total"); n != relists {
		t.Error("the watch was replaced first")
	}
	eventually(t, "it is ready again", func() bool { _, ready := r.readyz(t); return ready })
	t.Logf("ready after %v", time.Since(began).Round(100*time.Millisecond))
	if n := r.metric(t, "rota_store_relists_total"); n <= relists {
		t.Error("it is ready, and the dead watch was not replaced")
	}
}

// TestAWatchWithoutAnAnswerIsRestarted makes six watches silent. Each is restarted on another stream. Later watches on the same
// stream would wait for the same missing answer.
func TestAWatchWithoutAnAnswerIsRestarted(t *testing.T) {
	t.Parallel()
	relay := proxy.NewRelay(t, etcd(t))
	relay.MuteNext(6)
	r := start(t, Config{Settings: outside(t, "q1", relay.Endpoint()), Version: version})
	r.lead(t)
	r.put(t, "work", job.Spec{Shell: "true"})
	r.makeHistory(t)
	if n := r.metric(t, "rota_store_relists_total"); n > 0 {
		t.Errorf("all was read anew %v times", n)
	}
	if left := relay.Muted(); left > 0 {
		t.Errorf("%d watches fewer were started than were to be mute", left)
	}
}

// TestALeaderThatDoesNotDispatchIsNotReady makes the leader's decisions hang, although its session lives and all other parts
// answer.
func TestALeaderThatDoesNotDispatchIsNotReady(t *testing.T) {
	t.Parallel()
	relay := proxy.NewRelay(t, etcd(t))
	r := start(t, Config{Settings: outside(t, "q1", relay.Endpoint()), Version: version})
	r.lead(t)
	heal := relay.Hang("/rota/runs/")
	r.put(t, "j", job.Spec{Every: job.Duration(time.Second), Command: []string{"true"}})
	term := r.node.scheduler.Status().Term
	r.unready(t, "dispatch")
	if now := r.node.scheduler.Status().Term; term == 0 || now != term {
		t.Errorf("the term is %d, and was %d", now, term)
	}
	heal()
	eventually(t, "it is ready again", func() bool { _, ready := r.readyz(t); return ready })
	r.sound(t)
}

// unready waits until the failed checks of r are exactly checks.
func (r *running) unready(t *testing.T, checks ...string) {
	t.Helper()
	var text string
	defer func() {
		if t.Failed() {
			t.Log("it said:\n" + text)
		}
	}()
	eventually(t, "it is not ready, by these checks alone: "+strings.Join(checks, ", "), func() bool {
		var ready bool
		if text, ready = r.readyz(t); ready || strings.Count(text, "[-]") != len(checks) {
			return false
		}
		for _, check := range checks {
			if !strings.Contains(text, "[-]"+check+" failed: ") {
				return false
			}
		}
		return true
	})
}
