package worker

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// claimTimeout is how long the leader of TestChaos leaves an armed run with the worker.
const claimTimeout = 40 * time.Second

// lead does one round of a leader's work and returns how many runs have not ended. If away is true, it does not see the presence of
// the worker.
func (c *chaos) lead(away bool) (open int) {
	r, s := c.rig, c.session()
	var present string
	select {
	case <-s.done:
	default:
		if !away && !s.isClosed() && time.Now().Before(s.Deadline()) {
			present = s.id
		}
	}
	var keeps []string
	if shown := r.sessions.shown(); present != "" && shown.Session == present {
		keeps = shown.Keeps
	}
	busy := 0
	for _, name := range c.names {
		run := r.store.get(name)
		if run.State.Terminal() {
			continue
		}
		open++
		switch {
		case run.State == job.Pending && present != "" && !run.Due.After(time.Now().Add(2*time.Second)) && busy < r.cfg.Capacity:
			r.store.give(r.cfg.Name, present, name)
			busy++
		case run.State == job.Pending:
		case run.State == job.Armed && time.Since(run.Armed) > claimTimeout:
			r.store.change(name, "", func(run job.Run) (job.Run, error) { return run.Recall("not started") })
		case run.Session == present, slices.Contains(keeps, name):
			busy++
		case run.State == job.Armed:
			r.store.change(name, "", func(run job.Run) (job.Run, error) { return run.Recall("worker lost") })
		case run.Job == "kept" && present == "" && c.random.IntN(3) > 0:
		default:
			spec := r.store.jobs[run.Job].Spec
			r.store.change(name, "", func(run job.Run) (job.Run, error) {
				o, retry := policy.DecideRetry(policy.EndedAttempt{
					Spec: spec, Run: &run, Now: time.Now(), GivenUp: true,
					Outcome: job.Outcome{State: job.Lost, At: time.Now().UTC(), Reason: "worker lost"},
				})
				next, err := run.Finish(o)
				if retry != nil {
					next, err = run.Requeue(o, retry.Due, retry.Reason)
				}
				return next.GiveUp(), err
			})
		}
	}
	return open
}

// overlapWatch is an executor that detects overlapping and repeated attempts.
type overlapWatch struct {
	t *testing.T

	mu        sync.Mutex
	executing map[string]int64 // token by run
	tokens    map[int64]bool
	ends      map[int64]job.State // by token
	last      map[string]int64    // token by run
	max       int
}

func newOverlapWatch(t *testing.T) *overlapWatch {
	return &overlapWatch{
		t: t, executing: make(map[string]int64), tokens: make(map[int64]bool), ends: make(map[int64]job.State),
		last: make(map[string]int64),
	}
}

// wantNone fails the test if an attempt executes.
func (o *overlapWatch) wantNone() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.executing) > 0 {
		o.t.Errorf("attempts execute after their worker: %v", o.executing)
	}
}

// forget forgets the executing attempts, since their process was killed. It returns the tokens of all attempts so far.
func (o *overlapWatch) forget() map[int64]bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	clear(o.executing)
	return maps.Clone(o.tokens)
}

func (o *overlapWatch) execute(ctx context.Context, req executor.Request) job.Outcome {
	name, token := req.Run.Name(), req.Run.Token
	o.mu.Lock()
	if o.executing[name] != 0 {
		o.t.Errorf("two attempts of %s execute at a time: tokens %d and %d", name, o.executing[name], token)
	}
	if o.tokens[token] {
		o.t.Errorf("token %d is executed twice", token)
	}
	if token <= o.last[name] {
		o.t.Errorf("run %s: token %d after %d", name, token, o.last[name])
	}
	o.executing[name], o.tokens[token], o.last[name] = token, true, token
	o.max = max(o.max, len(o.executing))
	o.mu.Unlock()
	var out job.Outcome
	defer func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.executing[name] == token {
			delete(o.executing, name)
			o.ends[token] = out.State
		}
	}()
	if token%5 == 0 {
		out = failing(ctx, req)
	} else {
		out = lasting(time.Duration(token%40)*time.Second)(ctx, req)
	}
	return out
}
