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
