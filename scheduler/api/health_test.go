package api_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/rota-scheduler/rota/scheduler/api"
)

func TestProbes(t *testing.T) {
	good := api.Check{Name: "watches", Probe: func(context.Context) error { return nil }}
	bad := api.Check{Name: "store", Probe: func(context.Context) error { return errors.New("no endpoint\nanswers") }}
	hangs := api.Check{Name: "clock", Probe: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
	panics := api.Check{Name: "disk", Probe: func(context.Context) error { panic("gone") }}
	for _, tc := range []struct {
		name   string
		health api.Health
		path   string
		status int
		text   string
	}{
		{"nothing to check", api.Health{}, "/readyz", 200, "ok\n"},
		{"all well", api.Health{Ready: []api.Check{good}}, "/readyz", 200, "ok\n"},
		{"all well, in detail", api.Health{Ready: []api.Check{good}}, "/readyz?verbose", 200, "[+]serving ok\n[+]watches ok\nreadyz check passed\n"},
		{"a failure names its reason", api.Health{Ready: []api.Check{good, bad}}, "/readyz", 503, "[-]store failed: no endpoint; answers\nreadyz check failed\n"},
		{"a failure, in detail", api.Health{Ready: []api.Check{good, bad}}, "/readyz?verbose", 503, "[+]serving ok\n[+]watches ok\n[-]store failed: no endpoint; answers\nreadyz check failed\n"},
		{"healthz is readyz", api.Health{Ready: []api.Check{bad}}, "/healthz", 503, "[-]store failed: no endpoint; answers\nreadyz check failed\n"},
		{"the older spelling of readyz", api.Health{Ready: []api.Check{bad}}, "/health/readiness", 503, "[-]store failed: no endpoint; answers\nreadyz check failed\n"},
		{"an excluded check", api.Health{Ready: []api.Check{good, bad}}, "/readyz?exclude=store", 200, "ok\n"},
		{"a check that hangs", api.Health{Ready: []api.Check{hangs}}, "/readyz", 503, "[-]clock failed: context deadline exceeded\nreadyz check failed\n"},
		{"a check that panics", api.Health{Ready: []api.Check{panics}}, "/readyz", 503, "[-]disk failed: check panicked: gone\nreadyz check failed\n"},
		{"livez does not ask for readiness", api.Health{Ready: []api.Check{bad}}, "/livez", 200, "ok\n"},
		{"the older spelling of livez", api.Health{Ready: []api.Check{bad}}, "/health/liveness", 200, "ok\n"},
		{"livez fails on its own", api.Health{Live: []api.Check{bad}}, "/livez", 503, "[-]store failed: no endpoint; answers\nlivez check failed\n"},
		{"a leader", api.Health{Leader: func(context.Context) error { return nil }}, "/leader", 200, "this replica leads\n"},
		{"not the leader", api.Health{Leader: func(context.Context) error { return errors.New("q2 leads") }}, "/leader", 503, "q2 leads\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			back := newFake().backend()
			back.Health = tc.health
			began := time.Now()
			a := ask(t, serve(t, back), "GET", tc.path, "")
			if a.status != tc.status || a.text != tc.text {
				t.Errorf("got %d %q, want %d %q", a.status, a.text, tc.status, tc.text)
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("took %s", took)
			}
		})
	}
}

func TestDrainingIsNotReady(t *testing.T) {
	s := api.New(api.DefaultConfig(), newFake().backend(), hclog.NewNullLogger())
	srv := httptest.NewServer(s.Handler())
	t.Cleanup(srv.Close)
	if a := ask(t, srv, "GET", "/readyz", ""); a.status != 200 {
		t.Fatalf("before: got %d, want 200", a.status)
	}
	s.Drain()
	if a := ask(t, srv, "GET", "/readyz", ""); a.status != 503 {
		t.Errorf("draining: readyz got %d, want 503", a.status)
	}
	for _, path := range []string{"/livez", "/v1/jobs"} {
		if a := ask(t, srv, "GET", path, ""); a.status != 200 {
			t.Errorf("draining: %s got %d, want 200", path, a.status)
		}
	}
}
