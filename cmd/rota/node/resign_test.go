package node

import (
	"context"
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/election"
)

// TestAStopResignsBeforeAnythingElse has a leader told to stop while the reading of its job files hangs, as on a file server
// that does not answer.
func TestAStopResignsBeforeAnythingElse(t *testing.T) {
	t.Parallel()
	set := outside(t, "q1", etcd(t))
	set.Worker.Enabled = false
	set.Jobs = t.TempDir() + "/jobs.yaml"
	write(t, set.Jobs, jobsFile("x", "filed"))
	r := start(t, Config{Settings: set, Version: version})
	r.lead(t)
	client, err := Dial(set.Etcd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })

	r.node.replica.mu.Lock() // which who has read the files needs, to show it
	release := func() { r.node.replica.mu.Unlock() }
	defer func() { release() }()
	write(t, set.Jobs, jobsFile("y", "filed"))
	r.reload <- os.Signal(syscall.SIGHUP)
	eventually(t, "the files hang", func() bool {
		stacks := make([]byte, 1<<20)
		return strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), ".(*presence).setFiles(")
	})
	r.cancel()
	eventually(t, "it has resigned", func() bool {
		_, stands, err := election.Leader(t.Context(), client, set.Etcd.Prefix+"/election/")
		return err == nil && !stands
	})
	release()
	release = func() {}
}

// TestAReplicaThatIsStoppedDoesNotAnswer: whoever is to lead etcd has to do more than have a kernel that takes connections.
func TestAReplicaThatIsStoppedDoesNotAnswer(t *testing.T) {
	t.Parallel()
	stopped, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stopped.Close() })
	c, err := newClocks(&Node{now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.client.CloseIdleConnections)
	alive := ahead(t, config.ServerTLS{}, "q2")
	for name, test := range map[string]struct {
		node, addr string
		want       bool
	}{
		"alive":                             {"q2", alive, true},
		"stopped":                           {"q2", stopped.Addr().String(), false},
		"somebody else, at a wrong address": {"q3", alive, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.answers(context.Background(), test.node, test.addr); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestEtcdIsNotPassedToTheNextLeader(t *testing.T) {
	standing := []election.Candidate{{Node: "q1"}, {Node: "q2"}, {Node: "q3"}} // q1 leads
	for name, test := range map[string]struct {
		may  map[string]uint64
		want uint64
	}{
		"both others may":  {map[string]uint64{"q2": 2, "q3": 3}, 3},
		"the last may not": {map[string]uint64{"q2": 2}, 2},
		"none of them may": {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := heir(standing, func(c election.Candidate) (uint64, bool) { id, ok := test.may[c.Node]; return id, ok })
			if got != test.want || ok != (test.want != 0) {
				t.Errorf("got %d, %v, want %d", got, ok, test.want)
			}
		})
	}
}
