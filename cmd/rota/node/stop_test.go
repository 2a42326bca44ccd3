package node

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/files"
	"github.com/rota-scheduler/rota/test/proxy"
)

// stopBound is how long a node may take to stop after its shutdown grace, even if the store hangs. The delivery of outcomes may
// take ten seconds. Each step of leaving the cluster may take two seconds.
const stopBound = 25 * time.Second

// stopsInTime stops a node while the store hangs, and checks that it ends in time and without an error.
func (r *running) stopsInTime(t *testing.T, l *proxy.Link) {
	t.Helper()
	began, held := time.Now(), l.Held()
	r.cancel()
	select {
	case err := <-r.ended:
		r.ended <- err
		if err != nil {
			t.Errorf("Run: %v", err)
		}
	case <-time.After(stopBound):
		t.Fatal("it does not stop")
	}
	t.Logf("it took %v to stop", time.Since(began).Round(time.Millisecond))
	if held == 0 && l.Held() == 0 {
		t.Error("the cut did not bite")
	}
}

func TestStopsWhenTheStoreHangs(t *testing.T) {
	t.Parallel()
	endpoint := etcd(t)
	for name, role := range map[string]Role{"replica": Replica, "worker": WorkerOnly} {
		t.Run(name+" that starts", func(t *testing.T) {
			t.Parallel()
			l := proxy.NewLink(t, endpoint)
			l.Cut()
			r := launch(t, Config{Role: role, Settings: outside(t, name+"-starts", l.Endpoint()), Version: version})
			eventually(t, "it says that etcd does not answer", func() bool { return strings.Contains(r.log.String(), "etcd does not answer") })
			r.stopsInTime(t, l)
		})
		t.Run(name+" that is idle", func(t *testing.T) {
			t.Parallel()
			l := proxy.NewLink(t, endpoint)
			set := outside(t, name+"-idle", l.Endpoint())
			set.Etcd.Prefix = "/idle-" + name
			r := start(t, Config{Role: role, Settings: set, Version: version})
			l.Cut()
			r.stopsInTime(t, l)
		})
	}
	t.Run("replica that leads and works", func(t *testing.T) {
		t.Parallel()
		l := proxy.NewLink(t, endpoint)
		set := outside(t, "busy", l.Endpoint())
		set.Etcd.Prefix = "/busy"
		set.Jobs = t.TempDir() + "/jobs.yaml"
		files.Replace(t, set.Jobs, files.Jobs("x", "filed"))
		r := start(t, Config{Settings: set, Version: version})
		r.lead(t)
		r.put(t, "tick", job.Spec{Every: job.Duration(time.Second), Shell: "true"})
		r.put(t, "long", job.Spec{Shell: "sleep 60"})
		r.reaches(t, r.submit(t, "long", api.RunRequest{}).Ref, job.Running)
		stream, err := http.Get(r.Servers()[0] + "/v1/events")
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Body.Close()
		l.Cut()
		r.stopsInTime(t, l)
	})
}
