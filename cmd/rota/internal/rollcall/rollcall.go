package rollcall

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/loop"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// Config holds the parameters of Calls.
type Config struct {
	Name string           // of this replica
	Now  func() time.Time // the process's clock
	// Replicas returns the replicas that have stopped in good order, and then those whose presence is in the store.
	Replicas func() []*job.Replica
	// Ask asks the replica called name at addr, and returns the term in which it leads, 0 if it does not lead.
	Ask func(ctx context.Context, name, addr string) (term int64, err error)
	// Term returns the term in which this replica leads, 0 if it does not lead.
	Term func() int64
	// Publish publishes the outages that this replica observed.
	Publish func([]job.Outage)
}

// The pace of the calls.
const (
	every      = 500 * time.Millisecond
	againSoon  = 100 * time.Millisecond  // after a refused call
	silence    = 2 * time.Second         // a replica that has been silent for longer is absent
	asleep     = 2500 * time.Millisecond // if two calls are further apart, this process did not run between them
	leaderless = time.Second             // a shorter time without a leader is not an outage
	refusals   = 2                       // a replica whose address refuses so many calls in a row is dead
	kept       = 16                      // outages that are published, unless more present replicas are absent
)

// Calls observes the other replicas.
type Calls struct {
	cfg   Config
	ended chan struct{} // holds a token after a round, and after a death

	mu      sync.Mutex
	peers   map[string]*peer // guarded by mu
	outages []job.Outage     // guarded by mu: oldest first, at most kept
	led     time.Time        // guarded by mu: when this replica last saw that one led; zero: never
	called  time.Time        // guarded by mu: the last round
}

// peer is another replica.
type peer struct {
	addr     string
	answered time.Time // zero: never
	called   bool      // a call has ended, with an answer or without
	refused  int       // calls in a row
	leaving  time.Time // when it said that it stops; zero: it does not
	listed   bool      // Replicas returned it the last time
	gone     bool      // it has been absent for so long that it is not called any more, until it is present in the store again
}

// New returns Calls without any observation.
func New(cfg Config) *Calls {
	return &Calls{cfg: cfg, ended: make(chan struct{}, 1), peers: make(map[string]*peer)}
}

// Run calls the others until ctx ends.
func (c *Calls) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		pause := c.round(ctx)
		c.signal()
		loop.Pause(ctx, pause)
	}
	return nil
}

// now returns the time in UTC, without a monotonic reading, as records have it.
func (c *Calls) now() time.Time { return c.cfg.Now().Round(0).UTC() }

// round calls every known replica once, and returns the pause until the next round.
func (c *Calls) round(ctx context.Context) time.Duration {
	c.meet()
	type answer struct {
		at   time.Time
		term int64
		err  error
	}
	var wg sync.WaitGroup
	asked := c.now()
	answers := make(map[string]*answer)
	for name, addr := range c.addresses() {
		a := new(answer)
		answers[name] = a
		wg.Go(func() {
			a.term, a.err = c.cfg.Ask(ctx, name, addr)
			a.at = c.now()
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return 0
	}
	c.mu.Lock()
	now := c.now()
	slept := !c.called.IsZero() && now.Sub(c.called) > asleep
	c.called = now
	before := slices.Clone(c.outages)
	leads := c.cfg.Term() != 0
	pause := every
	for name, a := range answers {
		if c.hear(name, asked, a.at, a.err, slept) {
			pause = againSoon
		}
		leads = leads || a.err == nil && a.term != 0
	}
	c.seeLeader(now, leads, slept)
	changed := !slices.Equal(before, c.outages)
	list := slices.Clone(c.outages)
	c.mu.Unlock()
	if changed {
		c.cfg.Publish(list)
	}
	return pause
}

// meet takes over the replicas that are present in the store. It forgets the others that are not called any more, and those that
// never answered: their names may never return.
func (c *Calls) meet() {
	replicas := c.cfg.Replicas()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.peers {
		p.listed = false
	}
	for _, r := range replicas {
		if r.Name == c.cfg.Name || r.Addr == "" {
			continue
		}
		p := c.peers[r.Name]
		if p == nil {
			p = new(peer)
			c.peers[r.Name] = p
		}
		p.addr, p.leaving, p.listed, p.gone = r.Addr, r.Leaving, true, p.gone && !r.Leaving.IsZero()
	}
	maps.DeleteFunc(c.peers, func(name string, p *peer) bool {
		return !p.listed && (p.gone || p.answered.IsZero() && c.open(name) == nil)
	})
}

func (c *Calls) addresses() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make(map[string]string)
	for name, p := range c.peers {
		if !p.gone {
			list[name] = p.addr
		}
	}
	return list
}

// hear records the answer of one replica, or its error. A question that was asked before the replica died proves nothing of the
// time after. It returns true if the replica must be called again soon.
func (c *Calls) hear(name string, asked, at time.Time, err error, slept bool) (soon bool) {
	p := c.peers[name]
	if p == nil || p.gone {
		return false // its outage was dropped during this round
	}
	p.called = true
	if o := c.open(name); err == nil && o != nil && o.Cause == job.OutageDead && asked.Before(o.From) {
		return true
	}
	if err == nil {
		p.answered, p.refused = at, 0
		c.end(name, at)
		return false
	}
	if slept && !p.answered.IsZero() && c.open(name) == nil {
		p.answered = at // this process did not run, so it does not know since when the other one is silent
	}
	refused := errors.Is(err, syscall.ECONNREFUSED)
	if p.refused++; !refused {
		p.refused = 0
	}
	if p.answered.IsZero() {
		if p.leaving.IsZero() {
			return false // it never answered: its address may be wrong
		}
		p.answered = at
	}
	switch o := (job.Outage{Node: name, From: p.answered}); {
	case !p.leaving.IsZero():
		o.From, o.Cause = p.leaving, job.OutageStopped
		c.begin(o)
	case p.refused >= refusals:
		o.Cause = job.OutageDead
		c.begin(o)
	case at.Sub(p.answered) > silence:
		c.begin(o)
	}
	return refused && p.refused < refusals
}

// Died records that the connection to the process at addr broke at an instant, and that its address refuses connections. A replica
// that stops in good order has said so before.
func (c *Calls) Died(addr string, at time.Time) {
	c.meet()
	c.mu.Lock()
	var list []job.Outage
	for name, p := range c.peers {
		if p.addr == addr && p.leaving.IsZero() && !p.gone && c.open(name) == nil {
			c.begin(job.Outage{Node: name, From: job.Later(at.Round(0).UTC(), p.answered), Cause: job.OutageDead})
			list = slices.Clone(c.outages)
		}
	}
	c.mu.Unlock()
	if list != nil {
		c.cfg.Publish(list)
		c.signal()
	}
}

func (c *Calls) signal() {
	select {
	case c.ended <- struct{}{}:
	default:
	}
}

// Ended returns a channel that receives a value after each round, and when a replica has died. It has one reader.
func (c *Calls) Ended() <-chan struct{} { return c.ended }

// seeLeader records whether a replica leads.
func (c *Calls) seeLeader(now time.Time, leads, slept bool) {
	switch {
	case leads:
		c.end("", now)
		c.led = now
	case slept || c.led.IsZero():
	case now.Sub(c.led) > leaderless:
		c.begin(job.Outage{From: c.led})
	}
}

// Led returns when this replica last saw that one led; zero if it never did.
func (c *Calls) Led() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.led
}

// Outages returns the outages that this replica observed, oldest first.
func (c *Calls) Outages() []job.Outage {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.outages)
}

// Answering returns the replicas that answer. It includes this one.
func (c *Calls) Answering() map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := map[string]bool{c.cfg.Name: true}
	for name, p := range c.peers {
		if !p.answered.IsZero() && !p.gone && c.open(name) == nil {
			list[name] = true
		}
	}
	return list
}

// Uncalled returns the replicas that are present in the store and whose first call has not ended yet. This replica has just
// started, or they have. Their leases say that they are present.
func (c *Calls) Uncalled() (list []string) {
	replicas := c.cfg.Replicas()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range replicas {
		if r.Name == c.cfg.Name || r.Addr == "" || !r.Leaving.IsZero() {
			continue
		}
		if p := c.peers[r.Name]; p == nil || !p.called {
			list = append(list, r.Name)
		}
	}
	return list
}
