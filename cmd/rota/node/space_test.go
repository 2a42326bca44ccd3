package node

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/test/files"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store/embedded"
	"github.com/rota-scheduler/rota/test/proxy"
)

// fillUp writes to etcd until it is full.
func fillUp(t *testing.T, c *clientv3.Client) {
	t.Helper()
	for n := range 1000 {
		if _, err := c.Put(t.Context(), fmt.Sprint("/filler/", n%4), strings.Repeat("x", 256<<10)); err != nil {
			if !errors.Is(err, rpctypes.ErrNoSpace) {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("etcd never fills up")
}

// makeRoom makes room in etcd with the steps of the documentation.
func makeRoom(t *testing.T, c *clientv3.Client) {
	t.Helper()
	resp, err := c.Delete(t.Context(), "/filler/", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Compact(t.Context(), resp.Header.Revision, clientv3.WithCompactPhysical()); err != nil {
		t.Fatal(err)
	}
	for _, endpoint := range c.Endpoints() {
		if _, err := c.Defragment(t.Context(), endpoint); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.AlarmDisarm(t.Context(), &clientv3.AlarmMember{}); err != nil {
		t.Fatal(err)
	}
}

func TestAFullEtcdIsReportedAndSurvived(t *testing.T) {
	t.Parallel()
	endpoint, _ := etcdOf(t, embedded.Config{Dir: t.TempDir(), Client: "http://127.0.0.1:0", QuotaBytes: 8 << 20})
	r := start(t, Config{Settings: outside(t, "q1", endpoint), Version: version})
	r.lead(t)
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	gate := t.TempDir() + "/gate"
	r.put(t, "tick", job.Spec{Every: job.Duration(time.Second), Shell: "true", Missed: job.MissedNone})
	r.put(t, "work", job.Spec{Shell: "until [ -e " + gate + " ]; do sleep 0.05; done; echo done"})
	work := r.submit(t, "work", api.RunRequest{})
	r.reaches(t, work.Ref, job.Running)

	fillUp(t, c)
	eventually(t, "readiness says that etcd is full", func() bool {
		text, ready := r.readyz(t)
		return !ready && strings.Contains(text, "[-]space failed")
	})
	files.Replace(t, gate, "")
	if v, err := r.Cluster(t.Context()); err != nil || !v.Store.Full {
		t.Errorf("status: got %+v, %v; want it full", v.Store, err)
	}
	if _, _, err := r.Submit(t.Context(), "work", api.RunRequest{}); status(err) != 507 {
		t.Errorf("submit: got %v, want 507", err)
	}
	eventually(t, "the outcome waits", func() bool { return r.metric(t, "rota_outcomes_unsent") == 1 })
	if full := r.metric(t, "rota_store_full"); full != 1 {
		t.Errorf("rota_store_full is %v", full)
	}

	makeRoom(t, c)
	if v := r.ends(t, work.Ref, job.Succeeded); len(v.Attempts) != 1 {
		t.Errorf("it took %d attempts", len(v.Attempts))
	}
	eventually(t, "it is ready again", func() bool { _, ready := r.readyz(t); return ready })
	healed := time.Now()
	eventually(t, "slots run again", func() bool {
		v, err := r.Job(t.Context(), "tick")
		return err == nil && v.Last != nil && v.Last.State == job.Succeeded && v.Last.Finished.After(healed)
	})
	r.sound(t)
	for _, line := range []string{"etcd is full and takes nothing new", "etcd takes writes again"} {
		if n := strings.Count(r.log.String(), line); n != 1 {
			t.Errorf("the log says %d times: %s", n, line)
		}
	}
}

// TestAMemberThatIsLeftOutIsShown silences a member. The client stops using it, and the status of the cluster shows it as
// unavailable.
func TestAMemberThatIsLeftOutIsShown(t *testing.T) {
	t.Parallel()
	endpoint := etcd(t)
	first, second := proxy.NewLink(t, endpoint), proxy.NewLink(t, endpoint)
	all := []string{first.Endpoint(), second.Endpoint()}
	set := outside(t, "q1", "")
	set.Etcd.Endpoints, set.Worker.Enabled = all, false
	r := start(t, Config{Settings: set, Version: version})
	shows := func(unavailable ...string) func() bool {
		return func() bool {
			v, err := r.Cluster(t.Context())
			if err == nil && !slices.Equal(v.Store.Members, all) {
				t.Fatalf("members: got %v, want %v", v.Store.Members, all)
			}
			return err == nil && v.Store.DBSize > 0 && slices.Equal(v.Store.Unavailable, unavailable)
		}
	}
	eventually(t, "all members answer", shows())
	first.Cut()
	eventually(t, "the first is left out", func() bool { return !slices.Contains(r.node.client.Endpoints(), all[0]) })
	eventually(t, "the first is unavailable", shows(all[0]))
	first.Heal()
	eventually(t, "all members answer again", shows())
}
