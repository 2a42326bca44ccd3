package worker

import (
	"context"
	"maps"
	"math/rand/v2"
	"sync"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// process is the process of a worker, with its way to the store. A killed process reaches nothing any more.
type process struct {
	Store
	watch  *overlapWatch
	killed chan struct{}

	mu     sync.Mutex
	random *rand.Rand // guarded by mu
}

// launch starts the worker as a new process.
func (c *chaos) launch() {
	c.process = &process{
		Store: c.store, watch: c.watch, killed: make(chan struct{}), random: rand.New(rand.NewPCG(c.random.Uint64(), 3)),
	}
	c.through, c.exec = c.process, &fakeExecutor{do: c.process.execute}
	c.start()
}

// kill kills the process, and starts another one with what is on its disk.
func (c *chaos) kill() {
	synctest.Wait() // the journal must not change until all is known about it
	dir := c.t.TempDir()
	err := c.journal.db.View(func(tx *bolt.Tx) error { return tx.CopyFile(dir+"/journal.db", 0o600) })
	if err != nil {
		c.t.Fatal(err)
	}
	reports, _ := c.journal.load()
	lost := c.watch.forget() // except those whose outcomes were recorded, or are in the journal
	for _, report := range reports {
		delete(lost, report.Run.Token)
	}
	for _, ev := range c.store.eventList() {
		delete(lost, ev.Token)
	}
	maps.Copy(c.silent, lost)
	close(c.process.killed)
	c.stop() // what is left of it reaches neither the store nor the watch
	c.cfg.DataDir = dir
	c.launch()
}

// fault returns the fault of a call.
func (c *chaos) fault(string, *job.Run) fault {
	p := c.faults.IntN(100)
	switch {
	case c.calm:
		return none
	case time.Now().Before(c.dark):
		return refused
	case p < 30:
		return fault(1 + p%2)
	}
	return none
}

// refuse returns the definite refusal of a write.
func (c *chaos) refuse(run *job.Run) error {
	switch {
	case time.Now().Before(c.full):
		return job.ErrFull
	case time.Now().Before(c.unreadable[run.Name()]):
		return job.ErrUnreadable
	}
	return nil
}

// disturb makes an event, or none.
func (c *chaos) disturb() {
	name := c.names[c.random.IntN(len(c.names))]
	switch s := c.session(); c.random.IntN(40) {
	case 0:
		s.lose()
	case 1:
		s.cutOff()
	case 2:
		s.expire()
	case 3: // the presence is away, and the session goes on
		for range c.random.IntN(4) {
			c.lead(true)
			after(time.Second)
		}
		wake(s.back)
	case 4:
		c.store.set(func() { c.dark = time.Now().Add(25 * time.Second) })
	case 5:
		c.store.set(func() { c.full = time.Now().Add(10 * time.Second) })
	case 6:
		c.store.set(func() { c.unreadable[name] = time.Now().Add(30 * time.Second) })
	case 7, 8, 9:
		c.store.change(name, s.id, func(run job.Run) (job.Run, error) {
			switch {
			case run.State == job.Armed:
				return run.Recall("taken back")
			case run.State == job.Running && c.random.IntN(3) == 0:
				run.Reason = policy.Overdue
				return run, nil
			}
			return run.Stop(job.Cancel{At: time.Now()})
		})
	case 10:
		c.cfg.ShutdownGrace = time.Duration(c.random.IntN(20)) * time.Second
		c.finish()
		c.watch.wantNone()
		if err := c.journal.Close(); err != nil {
			c.t.Fatal(err)
		}
		c.launch()
	case 11:
		c.kill()
	}
}

func (p *process) isKilled() bool {
	select {
	case <-p.killed:
		return true
	default:
		return false
	}
}

// execute executes an attempt until the process is killed.
func (p *process) execute(ctx context.Context, req executor.Request) job.Outcome {
	if p.isKilled() {
		return job.Outcome{State: job.Lost}
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	go func() { // ends with the attempt
		select {
		case <-p.killed:
			end(executor.ErrStopping)
		case <-ctx.Done():
		}
	}()
	return p.watch.execute(ctx, req)
}

// delay returns how long a message is under way.
func (p *process) delay() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	most := 20 * time.Millisecond
	switch p.random.IntN(40) {
	case 0:
		most = 10 * time.Second
	case 1:
		most = time.Second
	}
	return time.Duration(p.random.Int64N(int64(most)))
}

// call makes a call to the store. It may take effect after the caller has given up.
func call[T any](ctx context.Context, p *process, do func(context.Context) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	if !p.isKilled() {
		there, back := p.delay(), p.delay()
		go func() {
			time.Sleep(there)
			value, err := do(context.WithoutCancel(ctx))
			time.Sleep(back)
			answers <- answer{value, err}
		}()
	}
	select {
	case a := <-answers:
		if !p.isKilled() {
			return a.value, a.err
		}
	case <-ctx.Done():
	}
	<-ctx.Done()
	var none T
	return none, context.Cause(ctx)
}

func (p *process) Write(ctx context.Context, run job.Run) (job.Run, error) {
	return call(ctx, p, func(ctx context.Context) (job.Run, error) { return p.Store.Write(ctx, run) })
}

func (p *process) Run(ctx context.Context, name, id string) (job.Run, error) {
	return call(ctx, p, func(ctx context.Context) (job.Run, error) { return p.Store.Run(ctx, name, id) })
}

func (p *process) Record(ctx context.Context, ev job.Event) error {
	_, err := call(ctx, p, func(ctx context.Context) (any, error) { return nil, p.Store.Record(ctx, ev) })
	return err
}

func (p *process) CloseOrder(ctx context.Context, worker, id string) error {
	_, err := call(ctx, p, func(ctx context.Context) (any, error) { return nil, p.Store.CloseOrder(ctx, worker, id) })
	return err
}
