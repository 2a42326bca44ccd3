package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// submission is one key and its answers.
type submission struct {
	key     string
	run     string // <job>/<id>, once it is accepted
	refused int    // number of rejections with a time to retry
	silent  int    // number of tries without an answer
}

// TestSubmitThroughAnOutage submits runs through the remaining replica while the store has no quorum. The replica rejects them
// with a time to retry. A client that retries gets one run for its key, and each accepted submission has one run. Missed slots
// are made up for as each job's policy says.
func TestSubmitThroughAnOutage(t *testing.T) {
	row(t)
	t.Parallel()
	sink := NewSink(t)
	post := &job.HTTP{URL: sink.URL(), Method: "POST"}
	every := job.Duration(time.Second)
	c := Start(t, Config{Binary: binary, Jobs: map[string]job.Spec{
		"once": {HTTP: post, Overlap: job.OverlapAllow},
		"none": {HTTP: post, Every: every, Missed: job.MissedNone}, "latest": {HTTP: post, Every: every, Missed: job.MissedLatest},
		"all": {HTTP: post, Every: every, Missed: job.MissedAll},
	}})
	asked := func() (n int) {
		for _, e := range sink.Requests() {
			if e.Job == "once" {
				n++
			}
		}
		return n
	}
	left := c.Replicas()[0]
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var wg sync.WaitGroup
	const (
		clients = 4
		outage  = 13 * time.Second // longer than a replica waits for the store, so early requests are rejected
	)
	made := make([][]*submission, clients)
	for i := range clients {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				s := &submission{key: fmt.Sprintf("client-%d-%d", i, n)}
				made[i] = append(made[i], s)
				insist(ctx, t, left, s)
			}
		})
	}
	Await(t, 20*time.Second, "submissions are accepted", func() bool { return asked() > 20 })

	over := c.Outage()
	stopped := time.Now()
	for _, n := range c.Replicas()[1:] {
		n.Stop()
	}
	if answers(c, 500*time.Millisecond) {
		t.Error("the store answers without a majority: the fault took no effect")
	}
	Await(t, 10*time.Second, left.Name+" says that it is not ready", func() bool {
		_, ready, err := left.Client.Ready(t.Context())
		return err == nil && !ready
	})
	Let(time.Until(stopped.Add(outage)))
	resumed := time.Now()
	for _, n := range c.Replicas()[1:] {
		n.Cont()
	}
	over()
	accepted := asked()
	Await(t, 60*time.Second, "submissions are accepted again", func() bool { return asked() > accepted+20 })
	// Runs that were armed before the outage may have started, and slots just after the outage may be on time.
	from, to := stopped.Add(3*time.Second), resumed.Add(-time.Second)
	missed := int(to.Unix() - from.Unix())
	Await(t, 30*time.Second, "the missed slots are made up for", func() bool { return len(succeeded(c, "all").between(from, to)) == missed })
	stop()
	wg.Wait()
	c.WaitReady()
	c.Check(sink.Requests, nil, nil)
	if n := len(succeeded(c, "none").between(from, to)); n > 0 {
		t.Errorf("missed: none made up for %d of %d slots", n, missed)
	}
	if n := len(succeeded(c, "latest").between(from, to)); n > 1 {
		t.Errorf("missed: latest made up for %d of %d slots, want one at most", n, missed)
	}

	runs := make(map[string]string) // by key
	for _, r := range c.Recorder.Runs("once") {
		if other, twice := runs[r.Key]; twice {
			t.Errorf("key %s has two runs, %s and %s", r.Key, other, r.Name())
		}
		runs[r.Key] = r.Name()
	}
	refused, silent := 0, 0
	for _, some := range made {
		for _, s := range some {
			refused += s.refused
			silent += s.silent
			if s.run != "" && runs[s.key] != s.run {
				t.Errorf("submission %s was accepted as %s, and the store has %q", s.key, s.run, runs[s.key])
			}
		}
	}
	t.Logf("%d runs; %d answers said when to try again, %d tries had no answer", len(runs), refused, silent)
	if refused == 0 {
		t.Error("nothing was refused: the fault took no effect")
	}
}

// insist submits a run until it is accepted or ctx ends. Every rejection must have a time to retry, which insist obeys.
func insist(ctx context.Context, t *testing.T, n *Node, s *submission) {
	body, err := json.Marshal(api.RunRequest{Key: s.key})
	if err != nil {
		t.Error(err)
		return
	}
	for ctx.Err() == nil {
		status, wait, run := ask(ctx, n.URL+"/v1/jobs/once/runs", body)
		switch {
		case status == http.StatusOK || status == http.StatusCreated:
			s.run = run
			return
		case status == 0:
			s.silent++
			wait = time.Second
		case wait == 0:
			t.Errorf("submission %s: refused with %d and no word when to try again", s.key, status)
			return
		case status != http.StatusServiceUnavailable && status != http.StatusGatewayTimeout:
			t.Errorf("submission %s: refused with %d", s.key, status)
			return
		default:
			s.refused++
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// ask posts body and returns the status, 0 without an answer, the time to retry, and the run.
func ask(ctx context.Context, url string, body []byte) (status int, wait time.Duration, run string) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, 0, ""
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, 0, ""
	}
	defer resp.Body.Close()
	var v api.RunView
	_ = json.NewDecoder(resp.Body).Decode(&v) // a rejection has no run
	after, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
	return resp.StatusCode, time.Duration(after) * time.Second, v.Ref
}
