package cluster

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
)

// guarded is a target that checks fencing tokens as docs/explanation/guarantees.md says. It rejects a token that is lower than
// the highest token that it has accepted.
type guarded struct {
	mu       sync.Mutex
	highest  int64   // guarded by mu
	accepted []int64 // guarded by mu
	refused  []int64 // guarded by mu
}

func (g *guarded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, err := strconv.ParseInt(r.Header.Get("Fencing-Token"), 10, 64)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if token < g.highest {
		g.refused = append(g.refused, token)
		http.Error(w, fmt.Sprintf("token %d is below %d", token, g.highest), http.StatusPreconditionFailed)
		return
	}
	g.highest = token
	g.accepted = append(g.accepted, token)
}

func (g *guarded) seen() (accepted, refused []int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]int64(nil), g.accepted...), append([]int64(nil), g.refused...)
}

// TestStaleHolderIsRefused stops a worker while its job continues, for three times its lease. Meanwhile another worker gets the
// run and ends it. Then the first job writes to a target that checks tokens, and its worker reports to the store. Both reject
// it.
func TestStaleHolderIsRefused(t *testing.T) {
	row(t)
	t.Parallel()
	target := new(guarded)
	server := httptest.NewServer(target)
	t.Cleanup(server.Close)
	ledger := NewLedger(t)
	gate := t.TempDir() + "/go"
	write := "[ $ROTA_ATTEMPT != 1 ] || while [ ! -e " + gate + " ]; do sleep 0.05; done; " + os.Args[0]
	c := Start(t, Config{Binary: binary, Flags: idle, Jobs: map[string]job.Spec{
		"write": {Shell: ledger.Shell(write), Env: map[string]string{roleVariable: "writer", "TARGET": server.URL}},
	}})
	stale := c.AddWorker("w1")
	submit(t, c, "write", api.RunRequest{})
	Await(t, 20*time.Second, "the run executes", func() bool { return onlyRun(t, c, "write").State == job.Running })
	first := onlyRun(t, c, "write")
	c.AddWorker("w2")

	conflicts := stale.Metric("rota_store_conflicts_total")
	stopped := time.Now()
	stale.Stop()
	Await(t, 3*electionTTL, "the run ends elsewhere", func() bool { return onlyRun(t, c, "write").State == job.Succeeded })
	winner := onlyRun(t, c, "write")
	if winner.Worker != "w2" || winner.Token <= first.Token {
		t.Fatalf("run ended on %s with token %d, want on w2 with one above %d: the fault took no effect", winner.Worker, winner.Token, first.Token)
	}
	t.Logf("another worker began the run %v after the first one was stopped", winner.Started.Sub(stopped).Round(100*time.Millisecond))
	touch(t, gate)
	Await(t, 20*time.Second, "the target refuses the stale holder", func() bool { _, refused := target.seen(); return len(refused) > 0 })
	Await(t, 20*time.Second, "the stale holder ends", func() bool {
		return slices.ContainsFunc(ledger.Effects(), func(e history.Effect) bool { return e.Token == first.Token && e.Well })
	})
	Let(time.Until(stopped.Add(3 * electionTTL)))
	stale.Cont()
	stale.WaitReady()
	Await(t, 20*time.Second, "the store refuses the stale holder", func() bool { return stale.Metric("rota_store_conflicts_total") > conflicts })

	accepted, refused := target.seen()
	if len(accepted) != 1 || accepted[0] != winner.Token || len(refused) != 1 || refused[0] != first.Token {
		t.Errorf("target accepted %v and refused %v, want %d and %d", accepted, refused, winner.Token, first.Token)
	}
	Await(t, 20*time.Second, "what the store refuses is kept", func() bool { return len(fenced(c, "write")) > 0 })
	// The job ended while its worker was stopped. Its outcome counts although its lease was lost.
	if events := fenced(c, "write"); len(events) != 1 || events[0].Token != first.Token || events[0].Worker != "w1" || events[0].State != job.Succeeded {
		t.Errorf("events of the refused outcome: got %+v, want one, of token %d on w1, that succeeded", events, first.Token)
	}
	if r := onlyRun(t, c, "write"); r.Rev != winner.Rev {
		t.Errorf("the run's record was changed at %d, after its end at %d", r.Rev, winner.Rev)
	}
	c.Check(ledger.Effects, nil, nil)
}

// fenced returns the events of late outcomes of a job.
func fenced(c *Cluster, name string) (events []job.Event) {
	for _, v := range c.Recorder.Versions() {
		if e, ok := decode[job.Event](v, "events/"+name+"/"); ok && e.Kind == job.EventFenced {
			events = append(events, e)
		}
	}
	return events
}

// TestJobIsLongerThanLeases runs a job for several times as long as every lease. It is executed once.
func TestJobIsLongerThanLeases(t *testing.T) {
	row(t)
	t.Parallel()
	ledger := NewLedger(t)
	work := fmt.Sprintf("sleep %d", 3*int(electionTTL.Seconds()))
	c := Start(t, Config{Binary: binary, Jobs: map[string]job.Spec{
		"long": {Shell: ledger.Shell(work)},
		"tick": {Shell: ledger.Shell(""), Every: job.Duration(time.Second), Missed: job.MissedAll},
	}})
	submit(t, c, "long", api.RunRequest{})
	Await(t, 60*time.Second, "the run ends", func() bool { return onlyRun(t, c, "long").State.Terminal() })
	r := onlyRun(t, c, "long")
	if took := r.Finished.Sub(r.Started); took < 2*electionTTL {
		t.Errorf("the job took %v: the load is too low", took)
	}
	if r.State != job.Succeeded || r.Attempt != 1 {
		t.Errorf("run: got %s after attempt %d (%s), want succeeded with the first", r.State, r.Attempt, r.Reason)
	}
	c.Check(ledger.Effects, nil, nil)
	for _, n := range c.Replicas() {
		if lost := n.Metric("rota_worker_sessions_lost_total"); lost > 0 {
			t.Errorf("%s lost its session %v times", n.Name, lost)
		}
	}
}

// decode decodes the value of a version whose key begins with folder. ok is false for another key, a deletion, or an invalid
// value.
func decode[T any](v history.Version, folder string) (value T, ok bool) {
	if v.Deleted || !strings.HasPrefix(v.Key, Prefix+"/"+folder) {
		return value, false
	}
	return value, json.Unmarshal(v.Value, &value) == nil
}
