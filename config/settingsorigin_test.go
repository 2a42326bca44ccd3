package config

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFlagBeatsEnvironmentBeatsFileBeatsDefault(t *testing.T) {
	text := "node: {name: file}\nelection: {ttl: 3s}\nworker: {capacity: 3, labels: {from: file}}\nhistory: {failed: 7}\n"
	s, err := load(t, text, []string{"--node-name=flag", "--worker-enabled=false"},
		"ROTA_NODE_NAME=env", "ROTA_ELECTION_TTL=4s", "ROTA_WORKER_LABELS=Zone=A, b=c", "ROTA_ETCD_ENDPOINTS=http://a:1,http://b:2",
		"ROTA_WORKER_CAPACITY=", "ROTA_WORKER_ENABLED=1")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{"flag", 4 * time.Second, 3, 7, 100, false}, []any{
		s.Node.Name, s.Election.TTL, s.Worker.Capacity, s.History.Failed, s.History.Success, s.Worker.Enabled,
	}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"Zone": "A", "b": "c"}, s.Worker.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"http://a:1", "http://b:2"}, s.Etcd.Endpoints); diff != "" {
		t.Errorf("endpoints (-want +got):\n%s", diff)
	}
	origins := s.Origins()
	for key, want := range map[string]string{
		"node.name": OriginFlag, "worker.enabled": OriginFlag, "election.ttl": OriginEnv, "worker.labels": OriginEnv,
		"worker.capacity": OriginFile, "history.success": OriginDefault, "jobs": OriginDefault,
	} {
		if origins[key] != want {
			t.Errorf("%s comes from %s, want %s", key, origins[key], want)
		}
	}
	if len(origins) != len(settings) {
		t.Errorf("%d origins, want %d", len(origins), len(settings))
	}
}
