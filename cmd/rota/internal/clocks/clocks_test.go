package clocks

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestAReplicaThatIsStoppedDoesNotAnswer checks that an accepted connection does not count as an answer. The kernel accepts
// connections for a stopped process.
func TestAReplicaThatIsStoppedDoesNotAnswer(t *testing.T) {
	t.Parallel()
	stopped, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stopped.Close() })
	c, err := New(Config{Name: "q1", Now: time.Now}, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.client.CloseIdleConnections)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(api.ClockReading{Node: "q2", Received: time.Now(), Answered: time.Now()})
	}))
	t.Cleanup(server.Close)
	alive := server.Listener.Addr().String()
	for name, test := range map[string]struct {
		node, addr string
		want       bool
	}{
		"alive":                             {"q2", alive, true},
		"stopped":                           {"q2", stopped.Addr().String(), false},
		"somebody else, at a wrong address": {"q3", alive, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.Answers(context.Background(), test.node, test.addr); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// TestAStartingClusterIsAwaited starts a replica whose clock is ahead while the others start, too. Before it may lead, it must know
// that its clock is wrong.
func TestAStartingClusterIsAwaited(t *testing.T) {
	t.Parallel()
	var others []*job.Replica
	for _, name := range []string{"q2", "q3"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_ = json.NewEncoder(w).Encode(api.ClockReading{Node: name, Received: time.Now(), Answered: time.Now()})
		}))
		t.Cleanup(server.Close)
		others = append(others, &job.Replica{Name: name, Addr: server.Listener.Addr().String()})
	}
	began := time.Now()
	c, err := New(Config{
		Name: "q1", MaxOffset: time.Second, Now: func() time.Time { return time.Now().Add(5 * time.Hour) },
		Term: func() int64 { return 0 }, Members: func() []string { return []string{"q1", "q2", "q3"} },
		Replicas: func(context.Context) ([]*job.Replica, error) {
			return others[:min(2, int(time.Since(began)/(300*time.Millisecond)))], nil // one after the other
		},
	}, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }() // awaited below
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	select {
	case <-c.peers.Judged():
	case <-time.After(firstWithin):
		t.Fatal("its clock is not judged")
	}
	if c.Trusted() == nil {
		t.Error("its clock counts as right before the other replicas were asked")
	}
}
