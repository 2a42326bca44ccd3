package api_test

import (
	"context"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/web"
)

// heldOverview holds each answer until end is closed.
type heldOverview struct {
	api.Overviewer

	began, end chan struct{}
}

func (h heldOverview) Overview(ctx context.Context, visible func(string) bool) (api.OverviewView, error) {
	h.began <- struct{}{}
	<-h.end
	return h.Overviewer.Overview(ctx, visible)
}

// Requests that visit all jobs or runs, and pages, leave processors to the leader and the store. Those beyond that wait, and are
// refused in the end. All other requests are still answered.
func TestWalksLeaveProcessorsToOthers(t *testing.T) {
	back := newFake().backend()
	held := heldOverview{back.Overview, make(chan struct{}), make(chan struct{})}
	back.Overview = held
	srv := serve(t, back, func(cfg *api.Config) {
		cfg.RequestTimeout = 200 * time.Millisecond
		cfg.Page = func(ops api.Operations) http.Handler { return web.New(ops, web.Config{}) }
	})
	var walks sync.WaitGroup
	for range max(1, runtime.GOMAXPROCS(0)/2) {
		walks.Go(func() {
			if a := ask(t, srv, "GET", "/v1/overview", ""); a.status != http.StatusOK {
				t.Errorf("a walk: got %d %.200q", a.status, a.text)
			}
		})
		<-held.began
	}
	for _, path := range []string{"/v1/overview", "/v1/jobs", "/v1/runs", "/v1/timeline", "/schedule", "/jobs"} {
		if a := ask(t, srv, "GET", path, ""); a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" {
			t.Errorf("%s: got %d %.200q, want 503 with Retry-After", path, a.status, a.text)
		}
	}
	if a := ask(t, srv, "GET", "/v1/cluster", ""); a.status != http.StatusOK {
		t.Errorf("the state of the cluster: got %d", a.status)
	}
	close(held.end)
	walks.Wait()
	for _, path := range []string{"/v1/runs", "/schedule"} {
		if a := ask(t, srv, "GET", path, ""); a.status != http.StatusOK {
			t.Errorf("%s after the walks: got %d %.200q", path, a.status, a.text)
		}
	}
}
