package etcdconn

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/store/embedded"
	"github.com/rota-scheduler/rota/test/leaks"
	"github.com/rota-scheduler/rota/test/poll"
)

func TestMain(m *testing.M) { os.Exit(leaks.Run(m)) }

// etcd starts an etcd until the test ends, and returns its endpoint.
func etcd(t testing.TB) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	s, err := embedded.Start(ctx, embedded.Config{Dir: t.TempDir(), Client: "http://127.0.0.1:0", NoSync: true}, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close etcd: %v", err)
		}
	})
	return s.Endpoint()
}

var eventually = poll.Until
