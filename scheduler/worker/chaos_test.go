package worker

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// TestChaos runs a worker through lost answers, lost sessions and restarts. A leader dispatches due runs and takes back
// the runs of lost sessions. The test checks the guarantees throughout.
func TestChaos(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { chaos(t, rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 2))) })
		})
	}
}

// chaos draws the events of the worker from random, and the faults of its concurrent calls from faults.
func chaos(t *testing.T, random, faults *rand.Rand) {
	const runs = 60
	watch := &overlapWatch{t: t, executing: make(map[string]bool), tokens: make(map[int64]bool), last: make(map[string]int64)}
	r := newRig(t, watch.execute)
	r.cfg.Capacity = 8
	r.store.define("backup", job.Spec{
		Command: []string{"x"}, Retry: &job.Retry{Max: 3, Min: job.Duration(time.Second)}, KillGrace: job.Duration(time.Second),
	})
	r.store.define("once", job.Spec{Command: []string{"x"}, Delivery: job.AtMostOnce})
	var names []string
	for i := range runs {
		due := time.Now().Add(time.Duration(random.IntN(120)) * time.Second)
		names = append(names, r.store.pending([]string{"backup", "once"}[i%2], fmt.Sprint(i), due))
	}
	ending, dark := false, time.Now() // both guarded by the store
	r.store.fault = func(string, *job.Run) fault {
		p := faults.IntN(100)
		switch {
		case ending:
			return none
		case time.Now().Before(dark):
			return refused
		case p < 30:
			return fault(1 + p%2)
		}
		return none
	}
	r.start()
	for second := 0; ; second++ {
		if second == 400 {
			r.store.set(func() { ending = true })
		}
		if second > 400 && lead(r, names) == 0 {
			break
		}
		if second > 2000 {
			t.Fatal("runs do not end")
		}
		lead(r, names)
		after(time.Second)
		if second > 400 {
			continue
		}
		switch random.IntN(40) {
		case 0:
			if s := r.session(); s != nil {
				s.lose()
			}
		case 1:
			if s := r.session(); s != nil {
				s.cutOff()
			}
		case 2:
			r.store.set(func() { dark = time.Now().Add(25 * time.Second) })
		case 3:
			r.finish()
			if err := r.journal.Close(); err != nil {
				t.Fatal(err)
			}
			r.start()
		}
	}
	after(10 * time.Second)
	t.Logf("%d sessions, %d executions, %d events", len(r.sessions.opened), len(r.exec.asked()), len(r.store.eventList()))
	r.wantJournal(0)
	for _, name := range names {
		var token int64
		run := r.store.get(name)
		for _, a := range run.Attempts {
			if a.Token <= token {
				t.Errorf("run %s: token %d after %d", name, a.Token, token)
			}
			token = a.Token
		}
	}
	events := make(map[int64]int)
	for _, ev := range r.store.eventList() {
		events[ev.Token]++
	}
	for _, name := range names {
		for _, a := range r.store.get(name).Attempts {
			want := 0
			if a.GivenUp && watch.tokens[a.Token] {
				want = 1
			}
			if got := events[a.Token]; got != want {
				t.Errorf("%d events for attempt %+v of run %s, want %d", got, a, name, want)
			}
		}
	}
	if watch.max > r.cfg.Capacity {
		t.Errorf("%d attempts executed at a time, want at most %d", watch.max, r.cfg.Capacity)
	}
}

// lead does one round of a leader's work and returns how many runs have not ended.
func lead(r *rig, names []string) (open int) {
	var present string
	if s := r.session(); s != nil && !s.isClosed() {
		present = s.id
	}
	busy := 0
	for _, name := range names {
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
		case run.Session == present:
			busy++
		case run.State == job.Armed:
			r.store.change(name, "", func(run job.Run) (job.Run, error) { return run.Recall("worker lost") })
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
	executing map[string]bool
	tokens    map[int64]bool
	last      map[string]int64 // token by run
	max       int
}

func (o *overlapWatch) execute(ctx context.Context, req executor.Request) job.Outcome {
	name, token := req.Run.Name(), req.Run.Token
	o.mu.Lock()
	if o.executing[name] {
		o.t.Errorf("two attempts of %s execute at a time", name)
	}
	if o.tokens[token] {
		o.t.Errorf("token %d is executed twice", token)
	}
	if token <= o.last[name] {
		o.t.Errorf("run %s: token %d after %d", name, token, o.last[name])
	}
	o.executing[name], o.tokens[token], o.last[name] = true, true, token
	o.max = max(o.max, len(o.executing))
	o.mu.Unlock()
	defer func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.executing, name)
	}()
	if token%5 == 0 {
		return failing(ctx, req)
	}
	return lasting(time.Duration(token%40)*time.Second)(ctx, req)
}
