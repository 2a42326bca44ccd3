package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestAStoreWithoutReplicasIsNamed: after a restart, the replicas of a full store are not present in it. This is when an operator
// needs `rota etcdctl`.
func TestAStoreWithoutReplicasIsNamed(t *testing.T) {
	server := startTeller(t, api.ClusterView{Name: "/rota", Store: api.StoreView{Members: []string{"http://q1:2379", "http://q2:2379"}}})
	got, err := (&cli{server: server}).findStore(t.Context(), "", nil)
	var coded *codedError
	if !errors.As(err, &coded) || coded.code != exitUnavailable || coded.hint != "if it does, add --endpoints http://q1:2379,http://q2:2379" ||
		!strings.Contains(err.Error(), "no replica is present in the store of "+server) {
		t.Errorf("got %v, %v; want the endpoints in the hint", got.Endpoints, err)
	}
}

func TestTheDefaultServerIsAskedLast(t *testing.T) {
	for server, want := range map[string]string{
		startTeller(t, api.ClusterView{Name: "/rota"}): "does not report where its store is",
		"http://127.0.0.1:1":                           "neither the etcd of a local `rota dev` answers at 127.0.0.1:23790, nor rota at http://127.0.0.1:1",
	} {
		got, err := new(cli).storeOfDefault(t.Context(), config.Etcd{}, server)
		if err == nil || !strings.Contains(err.Error(), want) || exitCode(t.Context(), err) != exitUnavailable {
			t.Errorf("got %v, %v; want code %d and %q", got.Endpoints, err, exitUnavailable, want)
		}
	}
}

func TestTheStoreBelongsToTheServer(t *testing.T) {
	if testing.Short() {
		t.Skip("starts etcd")
	}
	endpoint, shown := startStore(t, "/mine")
	elsewhere, _ := startStore(t, "/mine")
	view := func(endpoint string) api.ClusterView {
		return api.ClusterView{Name: "/mine", Replicas: []api.ReplicaView{shown}, Store: api.StoreView{Members: []string{endpoint}}}
	}
	find := func(server string, endpoints ...string) (config.Etcd, error) {
		return (&cli{environ: []string{"HOME=/", "ROTA_NODE_NAME=x"}, server: server}).findStore(t.Context(), "", endpoints)
	}
	for name, endpoints := range map[string][]string{"as it tells": nil, "as we know it": {endpoint}} {
		got, err := find(startTeller(t, view(endpoint)), endpoints...)
		if err != nil || len(got.Endpoints) != 1 || got.Endpoints[0] != endpoint || got.Prefix != "/mine" {
			t.Errorf("%s: got %v at %s, %v; want %s at /mine", name, got.Endpoints, got.Prefix, err, endpoint)
		}
	}
	// On this machine a loopback address leads to another etcd than on the server's machine.
	if got, err := find(startTeller(t, view(elsewhere))); exitCode(t.Context(), err) != exitUsage {
		t.Errorf("another etcd at the same address: got %v, %v; want a usage error", got.Endpoints, err)
	}
	if got, err := find(startTeller(t, view(endpoint)), elsewhere); exitCode(t.Context(), err) != exitUsage {
		t.Errorf("endpoints of another cluster: got %v, %v; want a usage error", got.Endpoints, err)
	}
}

func TestReplicasAreIdentifiedByTheirSession(t *testing.T) {
	at := time.Date(2026, 11, 21, 11, 0, 0, 1, time.UTC)
	q1 := job.Replica{Name: "q1", Session: "694d", Started: at}
	shown := []api.ReplicaView{{Replica: job.Replica{Name: "q2", Session: "7", Started: at}}, {Replica: q1}}
	for name, tc := range map[string]struct {
		change func(r *job.Replica)
		want   bool
	}{
		"the same":        {func(*job.Replica) {}, true},
		"another address": {func(r *job.Replica) { r.Addr = "q1:8470" }, true},
		"another name":    {func(r *job.Replica) { r.Name = "q2" }, false},
		"another session": {func(r *job.Replica) { r.Session = "694e" }, false},
		"another start":   {func(r *job.Replica) { r.Started = at.Add(1) }, false},
	} {
		r := q1
		tc.change(&r)
		if got := shareReplica(shown, []*job.Replica{&r}); got != tc.want {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
	}
	if shareReplica(shown, nil) || shareReplica(nil, []*job.Replica{&q1}) {
		t.Error("two empty lists share a replica")
	}
}
