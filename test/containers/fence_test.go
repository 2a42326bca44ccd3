package containers

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/cluster"
	"github.com/rota-scheduler/rota/test/proxy"
)

// TestAFencedWorkerEndsItsContainer cuts the link between a worker and etcd while a container runs. The worker ends the container
// before another worker begins the next attempt on the same engine.
func TestAFencedWorkerEndsItsContainer(t *testing.T) {
	d := startEngine(t)
	rota, err := cluster.Program(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ledger := t.TempDir()
	c := cluster.Start(t, cluster.Config{
		Binary: rota, Replicas: 1, Flags: func(string) []string { return []string{"--worker-enabled=false"} },
		Jobs: map[string]job.Spec{"slow": {Container: &job.Container{
			Image: toyImage, Network: "none", Volumes: []string{ledger + ":/ledger"},
			Command: []string{"note:/ledger/begun", "sleep:20s", "note:/ledger/ended"},
		}}},
	})
	flags := []string{"--worker-kinds=container", "--worker-container-socket=" + d.socket, "--worker-container-volumes=" + ledger}
	link := proxy.NewLink(t, c.Endpoints()[0])
	c.AddWorker("w1", flags...).StartVia(link.Endpoint())
	if _, _, err := c.Client.Submit(t.Context(), "slow", api.RunRequest{}); err != nil {
		t.Fatal(err)
	}
	begun := filepath.Join(ledger, "begun")
	cluster.Await(t, 30*time.Second, "the container works", func() bool { return lines(begun) == 1 })
	link.Cut()
	c.AddWorker("w2", flags...)
	most := 0
	var r job.Run
	cluster.Await(t, 2*time.Minute, "the run ends", func() bool {
		most = max(most, len(d.running()))
		for _, r = range c.Recorder.Runs("slow") {
		}
		return r.State.Terminal()
	})
	if r.State != job.Succeeded || r.Attempt != 2 || r.Attempts[0].State != job.Lost || r.Attempts[0].Worker != "w1" || link.Held() == 0 {
		t.Errorf("got %s in attempt %d after %+v, %d reads were held; want a success after w1 was lost", r.State, r.Attempt, r.Attempts, link.Held())
	}
	if n, ends := lines(begun), lines(filepath.Join(ledger, "ended")); most != 1 || n != 2 || ends != 1 {
		t.Errorf("%d containers ran at once, %d began and %d ended their work; want 1, 2 and 1", most, n, ends)
	}
	link.Heal()
	cluster.Await(t, time.Minute, "all containers are removed", func() bool { return len(d.all()) == 0 })
	if out, code := cluster.Command(t, rota, "verify", "--all-changes", "--server="+c.Replicas()[0].URL); code != 0 {
		t.Errorf("verify: %d\n%s", code, out)
	}
}
