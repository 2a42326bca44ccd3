package sim

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// The pace of package node.
const (
	measureEvery   = 2 * time.Second
	measureTimeout = time.Second
	measureAge     = 30 * time.Second
	attendPoll     = 500 * time.Millisecond
	sweepEvery     = 10 * time.Minute
)

// clocks measures how far the other replicas' clocks are from ours, as package node does over HTTP.
type clocks struct {
	process  *process
	measured chan struct{} // closed when every replica that was there at the start has been asked

	mu      sync.Mutex
	offsets map[string]election.Offset // guarded by mu
	skewed  error                      // guarded by mu
}

func newClocks(p *process) *clocks {
	return &clocks{process: p, measured: make(chan struct{}), offsets: make(map[string]election.Offset)}
}

func (c *clocks) run(ctx context.Context) error {
	if err := c.process.mirror.WaitFor(ctx, 1); err != nil {
		return err
	}
	c.measure(ctx)
	close(c.measured)
	sleep(ctx, measureEvery)
	for ctx.Err() == nil {
		c.measure(ctx)
		sleep(ctx, measureEvery)
	}
	return nil
}

func (c *clocks) measure(ctx context.Context) {
	var wg sync.WaitGroup
	for _, r := range c.process.mirror.Replicas() {
		if r.Name != c.process.machine.name {
			wg.Go(func() { c.ask(ctx, r.Name, r.Addr) })
		}
	}
	wg.Wait()
	c.judge()
}

// ask takes the four time stamps.
func (c *clocks) ask(ctx context.Context, name, addr string) {
	d := throw(c.process.world.plan.seed, "clock", c.process.machine.name, name, time.Now().UnixNano())
	there, back := d.upTo(2*time.Millisecond), d.upTo(2*time.Millisecond)
	sent, began := c.process.machine.now(), time.Now()
	sleep(ctx, there)
	other := c.process.world.listener(addr)
	asking, cancel := context.WithTimeout(ctx, measureTimeout)
	defer cancel()
	if other == nil || !other.machine.awake(asking) || ctx.Err() != nil {
		return
	}
	received := other.machine.clock.now()
	sleep(ctx, back)
	took := time.Since(began)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offsets[name] = election.Measure(name, sent, received, received, took)
}

func (c *clocks) judge() {
	now := c.process.machine.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	var offsets []election.Offset
	for name, o := range c.offsets {
		if now.Sub(o.At) > measureAge || o.At.After(now.Add(time.Second)) {
			delete(c.offsets, name)
			continue
		}
		offsets = append(offsets, o)
	}
	if c.skewed = election.Skewed(offsets, maxOffset); c.skewed != nil {
		c.process.world.tally.add("replica kept from leading by its clock")
	}
}

func (c *clocks) doubt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.offsets)
	c.skewed = errors.New("our clock was set")
	c.process.world.tally.add("replica in doubt of its clock")
}

func (c *clocks) trusted() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.skewed
}

// campaign stands for election while our clock is to be trusted.
func (p *process) campaign(ctx context.Context) error {
	select {
	case <-p.clocks.measured:
	case <-ctx.Done():
	}
	for ctx.Err() == nil {
		if p.clocks.trusted() != nil {
			sleep(ctx, measureEvery/4)
			continue
		}
		standing, withdraw := context.WithCancel(ctx)
		var wg sync.WaitGroup
		wg.Go(func() {
			defer withdraw()
			for standing.Err() == nil && p.clocks.trusted() == nil {
				sleep(standing, measureEvery/4)
			}
		})
		err := p.elector.Run(standing, p.leadByTheClock)
		withdraw()
		wg.Wait()
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *process) leadByTheClock(ctx context.Context, term election.Term) error {
	if err := p.clocks.trusted(); err != nil {
		return err
	}
	err := p.lead(ctx, term)
	if errors.Is(err, election.ErrClockJumped) || errors.Is(context.Cause(ctx), election.ErrClockJumped) {
		p.clocks.doubt()
	}
	return err
}

// lead dispatches for one term.
func (p *process) lead(ctx context.Context, term election.Term) error {
	rev, err := p.store.Revision(ctx)
	if err != nil {
		return err
	}
	waiting, cancel := context.WithTimeoutCause(ctx, 10*time.Second, errors.New("the watch of the store is behind"))
	err = p.mirror.WaitFor(waiting, rev)
	cancel()
	if err != nil {
		return err
	}
	p.world.tally.add("terms")
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel = context.WithCancel(ctx)
	defer cancel()
	wg.Go(func() { p.attend(ctx, term) })
	if age := p.world.plan.retention.MaxAge; age > 0 {
		wg.Go(func() {
			for ctx.Err() == nil {
				_, _ = p.store.SweepEvents(ctx, term, p.machine.now().Add(-age)) // what stays is swept the next time
				sleep(ctx, sweepEvery)
			}
		})
	}
	return p.scheduler.Lead(ctx, term)
}

// attend ends the presence of workers whose processes are proven dead.
func (p *process) attend(ctx context.Context, term election.Term) {
	var wg sync.WaitGroup
	defer wg.Wait()
	attended := make(map[string]context.CancelFunc) // by session
	defer func() {
		for _, leave := range attended {
			leave()
		}
	}()
	for ctx.Err() == nil {
		present := make(map[string]bool)
		for _, w := range p.mirror.Workers() {
			present[w.Session] = true
			if attended[w.Session] != nil || w.Name == p.machine.name {
				continue
			}
			visit, leave := context.WithCancel(ctx)
			attended[w.Session] = leave
			wg.Go(func() { p.awaitDeath(visit, term, w) })
		}
		for session, leave := range attended {
			if !present[session] {
				leave()
				delete(attended, session)
			}
		}
		sleep(ctx, attendPoll)
	}
}

func (p *process) awaitDeath(ctx context.Context, term election.Term, w *job.Worker) {
	for ctx.Err() == nil {
		if !p.world.awaitDeath(ctx, w.Addr) {
			sleep(ctx, attendPoll)
			continue
		}
		now, ok := p.mirror.Worker(w.Name)
		if !ok || now.Session != w.Session {
			return
		}
		ending, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := p.store.EndWorker(ending, term, now)
		cancel()
		if !errors.Is(err, job.ErrConflict) {
			p.world.tally.add("presence ended by a leader")
			return
		}
	}
}
