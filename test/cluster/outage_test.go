package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/files"
)

// TestStoreOutageAtJobEnd takes the quorum of the store away while a job executes. Its outcome waits until the store is back,
// and no run is repeated.
func TestStoreOutageAtJobEnd(t *testing.T) {
	slow(t)
	for _, c := range []struct {
		name   string
		works  string        // seconds that the job works after the start of the outage
		outage time.Duration // leases last 5 s
	}{
		{"shorter than a lease", "1", 2500 * time.Millisecond},
		{"longer than a lease", "1", 12 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			testOutageAtEnd(t, c.works, c.outage)
		})
	}
}

func testOutageAtEnd(t *testing.T, works string, outage time.Duration) {
	ledger := NewLedger(t)
	gate := t.TempDir() + "/go"
	c := Start(t, Config{
		Binary: binary,
		Jobs: map[string]job.Spec{
			"work": {Shell: ledger.Shell("while [ ! -e " + gate + " ]; do sleep 0.05; done; sleep " + works), Workers: only("q1")},
		},
		Flags: func(name string) []string { return []string{"--worker-labels=for=" + name} },
	})
	if _, _, err := c.Client.Submit(t.Context(), "work", api.RunRequest{}); err != nil {
		t.Fatal(err)
	}
	Await(t, 20*time.Second, "the run executes", func() bool { return len(ledger.Effects()) == 1 })
	c.Recorder.Sync() // the job may end before the recorder has its records
	claimed := onlyRun(t, c, "work")

	over := c.Outage()
	began := time.Now()
	stopped := c.Replicas()[1:]
	for _, n := range stopped {
		n.Stop()
	}
	touch(t, gate)
	Await(t, 10*time.Second, "the job ends", func() bool { return !ledger.Effects()[0].Ended.IsZero() })
	if ended := ledger.Effects()[0].Ended; ended.Before(began) {
		t.Error("the job ended before the outage: the fault took no effect")
	}
	if answers(c, 500*time.Millisecond) {
		t.Error("the store answers without a majority: the fault took no effect")
	}
	Let(time.Until(began.Add(outage)))
	if r := onlyRun(t, c, "work"); r.State.Terminal() {
		t.Errorf("run is %s in the middle of the outage: the fault took no effect", r.State)
	}
	for _, n := range stopped {
		n.Cont()
	}
	over()
	healed := time.Now()
	Await(t, 30*time.Second, "the outcome is delivered", func() bool { return onlyRun(t, c, "work").State.Terminal() })
	t.Logf("outcome delivered %v after the outage", time.Since(healed).Round(10*time.Millisecond))
	if r := onlyRun(t, c, "work"); r.State != job.Succeeded || r.Attempt != 1 || r.Token != claimed.Token {
		t.Errorf("run after the outage: got %s attempt %d token %d (%s), want succeeded with attempt 1 token %d",
			r.State, r.Attempt, r.Token, r.Reason, claimed.Token)
	}
	c.WaitReady()
	c.Check(ledger.Effects, nil, nil)
	if n := len(ledger.Effects()); n != 1 {
		t.Errorf("executed %d times, want once", n)
	}
}

// TestOutcomeOutlivesItsWorker takes the store away while a job executes, and kills its worker after the job has ended. The
// next process of the worker delivers the outcome once the store is back, and no run is repeated.
func TestOutcomeOutlivesItsWorker(t *testing.T) {
	row(t)
	t.Parallel()
	ledger := NewLedger(t)
	gate := t.TempDir() + "/go"
	c := Start(t, Config{Binary: binary, Flags: idle, Jobs: map[string]job.Spec{
		"work": {Shell: ledger.Shell("while [ ! -e " + gate + " ]; do sleep 0.05; done")},
	}})
	w := c.AddWorker("w1")
	submit(t, c, "work", api.RunRequest{})
	Await(t, 20*time.Second, "the run executes", func() bool { return len(ledger.Effects()) == 1 })
	c.Recorder.Sync() // the job may be faster than its events
	claimed := onlyRun(t, c, "work")

	over := c.Outage()
	for _, n := range c.Replicas() {
		n.Stop()
	}
	touch(t, gate)
	Await(t, 10*time.Second, "the outcome waits in the journal", func() bool { return journalled(t, c, w) == 1 })
	if n := w.Metric("rota_outcomes_unsent"); n != 1 {
		t.Errorf("%v outcomes wait on %s, want 1", n, w.Name)
	}
	w.Kill()
	w.Start()
	Await(t, 20*time.Second, "w1 answers again", func() bool { // otherwise a replica that continues before would prove w1 dead
		_, _, err := w.Client.Ready(t.Context())
		return err == nil
	})
	Let(2 * time.Second)
	for _, n := range c.Replicas() {
		n.Cont()
	}
	over()
	Await(t, 30*time.Second, "the outcome is delivered", func() bool { return onlyRun(t, c, "work").State.Terminal() })
	if r := onlyRun(t, c, "work"); r.State != job.Succeeded || r.Attempt != 1 || r.Token != claimed.Token {
		t.Errorf("run after the outage: got %s attempt %d token %d (%s), want succeeded with attempt 1 token %d",
			r.State, r.Attempt, r.Token, r.Reason, claimed.Token)
	}
	w.WaitReady() // the write of the first process may arrive before the next one reads its journal
	if want := "delivering outcomes of the last process"; !strings.Contains(w.Log(), want) {
		t.Errorf("%s does not log %q: the fault took no effect", w.Name, want)
	}
	c.WaitReady()
	c.Check(ledger.Effects, nil, nil)
	if n := len(ledger.Effects()); n != 1 {
		t.Errorf("executed %d times, want once", n)
	}
}

// journalled returns the number of outcomes in a node's journal. The node has locked the journal, so journalled reads a copy.
func journalled(t *testing.T, c *Cluster, n *Node) (outcomes int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.Dir, n.Name, "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "journal.db")
	files.Write(t, path, string(text))
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatalf("open a copy of the journal of %s: %v", n.Name, err)
	}
	defer db.Close()
	if err := db.View(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte("outcomes")).ForEach(func(_, value []byte) error {
			for dec := json.NewDecoder(bytes.NewReader(value)); dec.More(); outcomes++ {
				if err := dec.Decode(new(json.RawMessage)); err != nil {
					return err
				}
			}
			return nil
		})
	}); err != nil {
		t.Fatal(err)
	}
	return outcomes
}

// answers reports whether the quorum of the store answers within limit.
func answers(c *Cluster, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	_, err := c.Recorder.client.Get(ctx, Prefix)
	return err == nil
}
