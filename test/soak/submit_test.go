package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/cluster"
)

// submitter submits runs, each with its own key, and retries until it has the name of the run.
type submitter struct {
	t    *testing.T
	c    *cluster.Cluster
	rng  *rand.Rand
	seed uint64

	got     map[string]string // accepted runs by key
	asked   map[string]bool   // keys that were sent at least once
	repeats int               // number of repeated submissions
}

// run submits until ctx ends.
func (s *submitter) run(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		s.submit(ctx, n)
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(100+s.rng.IntN(400)) * time.Millisecond):
		}
	}
}

func (s *submitter) submit(ctx context.Context, n int) {
	name, key := fmt.Sprintf("submit-%d", n%submitted), fmt.Sprintf("soak-%d-%d", s.seed, n)
	r := api.RunRequest{Key: key}
	if n%2 == 0 {
		r.In = fmt.Sprintf("%dms", s.rng.IntN(8000))
	}
	again := n%5 == 0 // also after a good answer
	for tries := 0; ctx.Err() == nil; tries++ {
		asking, cancel := context.WithTimeout(ctx, 4*time.Second)
		s.asked[key] = true
		v, created, err := s.c.Client.Submit(asking, name, r)
		cancel()
		if tries > 0 {
			s.repeats++
		}
		if err != nil {
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
			continue
		}
		if before, known := s.got[key]; known && (before != v.Ref || created) {
			s.t.Errorf("key %s gave run %s, then %s (created: %t)", key, before, v.Ref, created)
		}
		s.got[key] = v.Ref
		if !again {
			return
		}
		again = false
	}
}

// check checks that every key has one run, and that every accepted run succeeded.
func (s *submitter) check() (said string) {
	s.t.Helper()
	byKey := make(map[string][]job.Run)
	for i := range submitted {
		for _, r := range runsEver(s.t, s.c, fmt.Sprintf("submit-%d", i)) {
			byKey[r.Key] = append(byKey[r.Key], r)
		}
	}
	for key := range s.asked {
		runs := byKey[key]
		switch ref, accepted := s.got[key]; {
		case len(runs) > 1:
			s.t.Errorf("key %s has %d runs", key, len(runs))
		case accepted && (len(runs) == 0 || runs[0].Name() != ref):
			s.t.Errorf("submission %s was accepted as %s and is not there", key, ref)
		case len(runs) == 1 && runs[0].State != job.Succeeded:
			s.t.Errorf("submission %s: run %s ended %s (%s)", key, runs[0].Name(), runs[0].State, runs[0].Reason)
		}
		delete(byKey, key)
	}
	for key, runs := range byKey {
		s.t.Errorf("run %s has the key %q, which no client sent", runs[0].Name(), key)
	}
	if len(s.got) == 0 || s.repeats == 0 {
		s.t.Errorf("%d submissions accepted, %d repeated: there is no load", len(s.got), s.repeats)
	}
	return fmt.Sprintf("%d submissions accepted, %d repeated with the same key", len(s.got), s.repeats)
}

// runsEver returns all runs of a job in their last recorded state, including runs that rota has deleted since.
func runsEver(t *testing.T, c *cluster.Cluster, name string) (runs map[string]job.Run) {
	t.Helper()
	runs = make(map[string]job.Run)
	for _, v := range c.Recorder.Versions() {
		if id, ok := strings.CutPrefix(v.Key, cluster.Prefix+"/runs/"+name+"/"); ok && !v.Deleted {
			runs[id] = decode[job.Run](t, v)
		}
	}
	return runs
}
