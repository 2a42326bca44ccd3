package node

import (
	"net/http"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/cmd/rota/internal/etcdconn"
)

func TestAReplicaDoesNotWaitForTheLeaseOfItsPredecessor(t *testing.T) {
	t.Parallel()
	set := outside(t, "q1", etcd(t))
	client, err := etcdconn.Dial(set.Etcd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	lease, err := client.Grant(t.Context(), 600)
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Put(t.Context(), set.Etcd.Prefix+"/election/1", `{"node":"q1","addr":"127.0.0.1:1"}`, clientv3.WithLease(lease.ID))
	if err != nil {
		t.Fatal(err)
	}
	start(t, Config{Settings: set, Version: version}).lead(t)
}

func TestABrowserMayUseTheAdvertisedName(t *testing.T) {
	t.Parallel()
	set := settings(t, "q1")
	set.HTTP.Advertise = "rota.internal:1"
	start(t, Config{Settings: set, Version: version})
	for name, want := range map[string]int{"rota.internal": http.StatusNotFound, "evil.example": http.StatusMisdirectedRequest} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+set.HTTP.Listen+"/v1/jobs/none/pause", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = name
		req.Header.Set("Origin", "http://"+name)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: got %s, want %d", name, resp.Status, want)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}
