package sim

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	exec "github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
)

// executor does the work of attempts: it lets time pass and writes to the ledger. It uses the clock of its worker. If that
// clock is wrong, every time that it reads or writes is wrong too: see skewed.
type executor struct{ process *process }

// Execute implements executor.Executor.
func (x executor) Execute(ctx context.Context, req exec.Request) job.Outcome {
	p, m := x.process, x.process.machine
	how := p.world.plan.work[req.Run.Job]
	d := throw(p.world.plan.seed, "work", req.Run.Name(), req.Run.Attempt)
	m.awake(context.Background()) // an execution that was about to start at a pause starts after it
	sleep(ctx, d.upTo(10*time.Millisecond))
	m.awake(context.Background())
	if o, ended := exec.Interrupted(ctx, &req, time.Now()); ended || p.dead.Load() {
		return o
	}
	e := p.world.ledger.begin(p, &req)
	switch {
	case req.Run.Kind == job.KindCopy && req.Run.Attempt > 1:
		p.world.tally.add("copies executed again")
	case req.Run.Kind == job.KindCopy:
		p.world.tally.add("copies executed")
	}
	took := d.between(how.least, how.most)
	if d.chance(how.slowShare) {
		took = d.upTo(how.slow)
	}
	sleep(ctx, took)
	if ctx.Err() != nil {
		p.world.ledger.told(e)
		if d.chance(0.2) { // the command ignores SIGTERM
			linger(d.upTo(req.Spec.KillGrace.Std()), req.Hurry)
		}
	}
	m.awake(context.Background())
	o, ended := exec.Interrupted(ctx, &req, time.Now())
	if !ended {
		o = job.Outcome{State: job.Succeeded, At: time.Now(), Outputs: outputs(&req.Run)}
		if d.chance(how.failing) {
			p.world.tally.add("attempt failed")
			o.State, o.Reason, o.Retry = job.Failed, "as the seed says", d.chance(0.8)
		}
	}
	p.world.ledger.end(e, o.State == job.Succeeded)
	return o
}

// linger waits for grace. After hurry is closed, it waits for at most exec.HurryGrace.
func linger(grace time.Duration, hurry <-chan struct{}) {
	over := time.After(grace)
	select {
	case <-over:
		return
	case <-hurry:
	}
	select {
	case <-over:
	case <-time.After(exec.HurryGrace):
	}
}

// work describes the attempts of a job.
type work struct {
	least, most time.Duration
	slow        time.Duration // longest slow attempt
	slowShare   float64       // share of slow attempts
	failing     float64       // share of failing attempts
}

// execution is an effect, with data that its target does not have.
type execution struct {
	history.Effect
	process *process
	inputs  map[string]map[string]string // what it got from the runs that its run follows
	told    time.Time                    // when its context ended; zero: it has not
	over    time.Time                    // when it ended in any way; zero: it has not
}

// ledger has the executions that the targets of all jobs saw. It is not a part of rota.
type ledger struct {
	mu   sync.Mutex
	list []*execution // guarded by mu: in the order of their start
}

func (l *ledger) begin(p *process, req *exec.Request) *execution {
	e := &execution{process: p, inputs: req.Inputs, Effect: history.Effect{
		Job: req.Run.Job, Run: req.Run.Name(), Attempt: req.Run.Attempt, Token: req.Run.Token, Key: req.Run.IdempotencyKey(), Arrived: time.Now(),
	}}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, e)
	return e
}

// told records that the context of an execution ended.
func (l *ledger) told(e *execution) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.told = time.Now()
}

// end records the end of an execution, unless its process died before.
func (l *ledger) end(e *execution, well bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.over.IsZero() {
		e.over = time.Now()
		e.Ended, e.Well = e.over, well
	}
}

// died ends the executions of a process. Their targets see no end.
func (l *ledger) died(p *process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.list {
		if e.process == p && e.over.IsZero() {
			e.over = time.Now()
		}
	}
}

// executions returns all executions so far in the order of their start.
func (l *ledger) executions() []*execution {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := slices.Clone(l.list)
	slices.SortStableFunc(list, func(a, b *execution) int { return cmp.Compare(a.Arrived.UnixNano(), b.Arrived.UnixNano()) })
	return list
}
