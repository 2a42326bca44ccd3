package cluster

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
)

// checkService is a service that gets pings, in the form of Healthchecks.
type checkService struct {
	*httptest.Server
	mu    sync.Mutex
	pings map[string]int // guarded by mu: by path and text
	last  time.Time      // guarded by mu: of a ping to /cluster
}

func newCheckService(t *testing.T) *checkService {
	s := &checkService{pings: map[string]int{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.URL.Path == "/cluster" {
			s.last = time.Now()
		}
		if r.URL.Path != "/cluster" && r.URL.Query().Get("rid") == "" {
			t.Errorf("%s has no id of a run", r.URL)
		}
		s.pings[r.URL.Path+" "+string(text)]++
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *checkService) count(ping string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pings[ping]
}

// silence returns for how long no ping about the cluster has come.
func (s *checkService) silence() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.last)
}

// TestPings kills the leader between the pings of runs. Each run still has its pings, and the ping of the cluster stays away while
// nobody leads.
func TestPings(t *testing.T) {
	slow(t)
	t.Parallel()
	service, ledger := newCheckService(t), NewLedger(t)
	end := time.Now().Add(startTime + 12*time.Second).Truncate(time.Second)
	c := Start(t, Config{
		Binary: binary,
		Flags: func(string) []string {
			return []string{"--worker-enabled=false", "--notify-ping-url=" + service.URL + "/cluster", "--notify-ping-every=1s"}
		},
		Jobs: map[string]job.Spec{
			"good": {Every: job.Duration(time.Second), End: &end, Shell: ledger.Shell("true"), Ping: &job.Ping{URL: service.URL + "/good"}},
			"bad":  {Every: job.Duration(4 * time.Second), End: &end, Shell: ledger.Shell("exit 1"), Ping: &job.Ping{URL: service.URL + "/bad"}},
		},
	})
	c.AddWorker("w1")
	Await(t, startTime+10*time.Second, "the cluster pings", func() bool { return service.silence() < 2*time.Second })
	Await(t, startTime+20*time.Second, "runs end", func() bool { return len(c.Recorder.Runs("good")) > 3 })
	killed := c.Leader()
	killed.Kill()
	Await(t, 30*time.Second, "the next leader pings", func() bool { return c.Leader() != killed && service.silence() < time.Second })
	killed.Start()
	killed.WaitReady()
	Let(time.Until(end))
	c.Check(ledger.Effects, nil, func(j *history.Job) { j.MayFail = true })
	sent := 0
	for name, want := range map[string]job.State{"good": job.Succeeded, "bad": job.Failed} {
		for _, r := range c.Recorder.Runs(name) {
			if r.State != want {
				continue
			}
			sent++
			last := "/" + name
			if want == job.Failed {
				last += "/fail"
			}
			text := last + " run " + r.Name() + ": " + string(r.State)
			if r.Reason != "" {
				text += ": " + r.Reason
			}
			Await(t, 20*time.Second, "the ping "+text, func() bool { return service.count(text) > 0 })
		}
	}
	if sent < 10 {
		t.Errorf("only %d runs have ended", sent)
	}
	starts := 0
	service.mu.Lock()
	for ping := range service.pings {
		if strings.HasPrefix(ping, "/good/start run good/") {
			starts++
		}
	}
	service.mu.Unlock()
	if starts < 5 {
		t.Errorf("only %d starts were reported", starts)
	}
	for _, n := range c.Replicas() {
		n.Kill()
	}
	Await(t, 20*time.Second, "the cluster is silent", func() bool { return service.silence() > 5*time.Second })
}
