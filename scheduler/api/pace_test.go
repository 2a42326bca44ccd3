package api

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/time/rate"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

func TestRefusalsWaitOnlyDuringAFlood(t *testing.T) {
	now, p := time.Now(), newPace()
	for i := range refusalsAnswered {
		if d := p.delay(now); d != 0 {
			t.Fatalf("refusal %d waits %v", i, d)
		}
	}
	for range 50 * refusalsAnswered {
		if d := p.delay(now); d <= 0 || d > longestDelay {
			t.Fatalf("a refusal of the flood waits %v", d)
		}
	}
	if d := p.delay(now.Add(2*longestDelay + time.Millisecond)); d != 0 {
		t.Errorf("after the flood, a refusal waits %v", d)
	}
}

// nobody proves no identity.
type nobody struct{}

func (nobody) Authenticate(*http.Request) (auth.Caller, error) { return auth.Caller{}, nil }

// A flood waits, and other requests do not.
func TestOnlyRefusedRequestsAreSlow(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Auth = nobody{}
	s := New(cfg, Backend{}, hclog.NewNullLogger())
	s.closed["GET /"] = true
	s.v1.HandleFunc("GET /", func(http.ResponseWriter, *http.Request) { t.Error("a stranger reaches an operation") })
	s.pace.refusals = rate.NewLimiter(20, 1)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, ln) }()
	ask := func(path string, want int) time.Duration {
		t.Helper()
		began := time.Now()
		res, err := http.Get("http://" + ln.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		if res.Body.Close(); res.StatusCode != want {
			t.Fatalf("%s: got %d, want %d", path, res.StatusCode, want)
		}
		return time.Since(began)
	}
	began := time.Now()
	for range 11 {
		ask("/v1/jobs", http.StatusUnauthorized)
	}
	if took := time.Since(began); took < 450*time.Millisecond {
		t.Errorf("eleven refusals took %v, at a rate of twenty a second", took)
	}
	quick := time.Hour
	for range 5 { // the machine may be busy
		quick = min(quick, ask("/livez", http.StatusOK))
	}
	if quick > 40*time.Millisecond {
		t.Errorf("a request that is not refused takes %v", quick)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
