package sim

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// The intervals have the same values as in package node.
const (
	measureEvery   = 2 * time.Second
	measureTimeout = time.Second
	measureAge     = 30 * time.Second
	sweepEvery     = 10 * time.Minute
)

// clocks measures the offsets of the other replicas' clocks, as package node does over HTTP.
type clocks struct {
	process *process
	leader  election.LeaderClock
	own     election.OwnClock
	peers   *election.PeerClocks
}

func newClocks(p *process) *clocks {
	return &clocks{process: p, peers: election.NewPeerClocks(p.machine.clock.reading)}
}

func (c *clocks) run(ctx context.Context) error {
	if c.process.machine.replica {
		if err := c.process.mirror.WaitFor(ctx, 1); err != nil {
			return err
		}
	}
	for ctx.Err() == nil {
		c.measure(ctx)
		sleep(ctx, measureEvery)
	}
	return nil
}

func (c *clocks) measure(ctx context.Context) {
	round := c.peers.Round()
	var wg sync.WaitGroup
	for _, r := range c.others(ctx) {
		if r.Name != c.process.machine.name {
			wg.Go(func() { c.ask(ctx, round, r.Name, r.Addr) })
		}
	}
	wg.Wait()
	if !c.process.machine.replica { // no decision depends on a worker's own clock
		return
	}
	if errors.Is(c.peers.Trusted(), election.ErrClockSet) {
		c.process.world.tally.add("replica in doubt of its clock")
	}
	if wrong, _ := round.Judge(c.process.machine.now(), measureAge, maxOffset); wrong != nil {
		c.process.world.tally.add("replica kept from leading by its clock")
	}
}

// others returns the known replicas.
func (c *clocks) others(ctx context.Context) []*job.Replica {
	if c.process.machine.replica {
		return c.process.mirror.Replicas()
	}
	asking, cancel := context.WithTimeout(ctx, measureTimeout)
	defer cancel()
	replicas, _ := c.process.store.Replicas(asking) // a worker has no mirror; it measures a missing replica in the next round
	return replicas
}

// leaderNow returns the earliest time that the clock of the leader of term may show now; false if it is unknown. A worker with
// a wrong clock sees that time moved too: see skewed.
func (c *clocks) leaderNow(term int64) (now time.Time, known bool) {
	p := c.process
	if p.scheduler != nil && term != 0 && p.scheduler.Status().Term == term {
		now, known = c.own.Now(p.machine.now()), true
	} else {
		now, known = c.leader.Now(term)
	}
	if known {
		p.world.tally.add("runs held by the leader's clock")
	}
	return now.Add(-p.machine.lies), known
}

// ask takes the four time stamps of one measurement.
func (c *clocks) ask(ctx context.Context, round election.Round, name, addr string) {
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
	received, term := other.machine.clock.now(), other.scheduler.Status().Term
	sleep(ctx, back)
	took := time.Since(began)
	c.leader.Record(term, received, took, began.Add(took), election.Reading{})
	round.Record(election.Measure(name, sent, received, received, took))
}

// campaign campaigns while our clock is trusted.
func (p *process) campaign(ctx context.Context) error {
	return p.elector.RunTrusted(ctx, p.clocks.peers, p.lead)
}

// lead dispatches for one term.
func (p *process) lead(ctx context.Context, term election.Term) error {
	waiting, cancel := context.WithTimeoutCause(ctx, 10*time.Second, errors.New("the watch of the store is behind"))
	err := p.mirror.WaitFor(waiting, term.Won)
	cancel()
	if err != nil {
		return err
	}
	p.world.tally.add("terms")
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel = context.WithCancel(ctx)
	defer cancel()
	wg.Go(func() { p.watchWorkers(ctx, term) })
	if age := p.world.plan.retention.MaxAge; age > 0 {
		wg.Go(func() {
			for ctx.Err() == nil {
				_, _ = p.store.SweepEvents(ctx, term, p.machine.now().Add(-age)) // the next sweep removes the rest
				sleep(ctx, sweepEvery)
			}
		})
	}
	p.clocks.own.Start(p.machine.now())
	return p.scheduler.Lead(ctx, term)
}

// watchWorkers ends the presence of workers whose processes are proven dead.
func (p *process) watchWorkers(ctx context.Context, term election.Term) {
	election.WatchProcesses(ctx, election.ProcessWatch{
		Present: func() (list []election.Process) {
			for _, w := range p.mirror.Workers() {
				if w.Name != p.machine.name {
					list = append(list, election.Process{Name: w.Name, Addr: w.Addr, Session: w.Session})
				}
			}
			return list
		},
		End: func(ctx context.Context, dead election.Process) error {
			w, ok := p.mirror.Worker(dead.Name)
			if !ok || w.Session != dead.Session {
				return nil
			}
			if err := p.store.EndWorker(ctx, term, w); err != nil {
				return err
			}
			p.world.tally.add("presence ended by a leader")
			return nil
		},
		Await: p.world.awaitDeath,
	})
}
