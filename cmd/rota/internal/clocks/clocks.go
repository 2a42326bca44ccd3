package clocks

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/cmd/rota/internal/loop"
	"github.com/rota-scheduler/rota/cmd/rota/internal/peer"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// Config holds the parameters of Clocks.
type Config struct {
	Name      string // name of this process
	TLS       config.ServerTLS
	MaxOffset time.Duration    // a replica whose clock is off by more than this does not lead
	Now       func() time.Time // this process's clock
	// Replicas returns the replicas of the cluster. The list may include this process.
	Replicas func(ctx context.Context) ([]*job.Replica, error)
	// Term returns the term in which this process leads, 0 if it does not lead. It is nil for a worker, which makes no decisions
	// by its own clock.
	Term func() int64
	// Members returns the names of all members of an embedded etcd, also of those that are down. nil: there is none.
	Members func() []string
}

// Clocks measures the offsets of the replicas' clocks from the clock of this process.
type Clocks struct {
	cfg    Config
	log    hclog.Logger
	leader election.LeaderClock
	own    election.OwnClock
	peers  *election.PeerClocks
	scheme string
	client http.Client
}

// The pace of the measurements, and how long a measurement is valid.
const (
	measureEvery   = 2 * time.Second
	measureTimeout = time.Second
	measureAge     = 30 * time.Second
	firstEvery     = 200 * time.Millisecond // while this clock waits for its first judgement
	firstWithin    = 5 * time.Second
)

// New returns Clocks without any measurement.
func New(cfg Config, log hclog.Logger) (*Clocks, error) {
	scheme, transport, err := peer.Transport(cfg.TLS)
	if err != nil {
		return nil, err
	}
	c := &Clocks{cfg: cfg, log: log, scheme: scheme, client: http.Client{Transport: transport, Timeout: measureTimeout}}
	c.leader.Clock = election.SystemClock
	c.peers = election.NewPeerClocks(func() election.Reading { return Read(cfg.Now) })
	return c, nil
}

// Run measures until ctx ends.
func (c *Clocks) Run(ctx context.Context) error {
	defer c.client.CloseIdleConnections()
	for began := time.Now(); ctx.Err() == nil && time.Since(began) < firstWithin; loop.Pause(ctx, firstEvery) {
		if c.measure(ctx); !c.isEarly() {
			break
		}
	}
	loop.Every(ctx, measureEvery, func(ctx context.Context) {
		if round := c.measure(ctx); c.cfg.Term != nil {
			c.judge(round)
		}
	})
	return nil
}

// isEarly reports whether a judgement of this process's clock has to wait. When a whole cluster starts, a replica with a wrong
// clock may be the first that looks for others. The clocks of most members have to agree with its clock, or to differ from it. Of
// two clocks, nobody can say which one is wrong.
func (c *Clocks) isEarly() bool {
	if c.cfg.Term == nil || c.cfg.Members == nil {
		return false
	}
	members, agree, differ := len(c.cfg.Members()), 1, 0
	for _, o := range c.peers.Offsets() {
		if o.Beyond(c.cfg.MaxOffset) {
			differ++
		} else {
			agree++
		}
	}
	return members > 2 && 2*max(agree, differ) <= members
}

// measure asks every other replica once.
func (c *Clocks) measure(ctx context.Context) election.Round {
	asking, cancel := context.WithTimeout(ctx, measureTimeout)
	replicas, err := c.cfg.Replicas(asking)
	cancel()
	if err != nil && ctx.Err() == nil {
		c.log.Debug("clocks were not compared", "err", err)
	}
	round := c.peers.Round()
	var wg sync.WaitGroup
	for _, r := range replicas {
		if r.Name == c.cfg.Name || r.Addr == "" {
			continue
		}
		wg.Go(func() {
			if o, _, err := c.ask(ctx, r.Name, r.Addr); err == nil {
				round.Record(o)
			}
		})
	}
	wg.Wait()
	return round
}

// ask measures the offset of one process's clock. If that process leads, ask also records and returns its term.
func (c *Clocks) ask(ctx context.Context, name, addr string) (o election.Offset, term int64, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.scheme+addr+"/clock", nil)
	if err != nil {
		return o, 0, fmt.Errorf("ask %s for its clock: %w", name, err)
	}
	sent, began, ours := c.cfg.Now(), time.Now(), c.leader.Clock()
	resp, err := c.client.Do(req)
	took := time.Since(began)
	if err != nil {
		return o, 0, fmt.Errorf("ask %s for its clock: %w", name, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return o, 0, fmt.Errorf("ask %s for its clock: status %d", name, resp.StatusCode)
	}
	var v api.ClockReading
	if err := json.NewDecoder(resp.Body).Decode(&v); err != nil {
		return o, 0, fmt.Errorf("ask %s for its clock: %w", name, err)
	}
	if v.Node != name { // another process answered: for instance this one, if addr is a loopback address
		return o, 0, fmt.Errorf("ask %s for its clock: %s answers at %s", name, v.Node, addr)
	}
	c.leader.Record(v.Term, v.Answered, took, began.Add(took), ours)
	return election.Measure(name, sent, v.Received, v.Answered, took), v.Term, nil
}

// Answers reports whether the process called name answers at addr. An accepted connection is not enough, because the kernel also
// accepts connections for a process that is stopped.
func (c *Clocks) Answers(ctx context.Context, name, addr string) bool {
	_, _, err := c.ask(ctx, name, addr)
	return err == nil
}

// Term returns the term in which the replica called name leads, 0 if it does not lead. It returns an error if the replica does not
// answer at addr.
func (c *Clocks) Term(ctx context.Context, name, addr string) (int64, error) {
	_, term, err := c.ask(ctx, name, addr)
	return term, err
}

// Read reads this machine's clocks. now is the wall clock by which the process makes decisions.
func Read(now func() time.Time) election.Reading {
	r := election.SystemClock()
	r.Wall = now().Round(0).UTC()
	return r
}

// judge compares this process's clock with the others. It logs when the clock becomes wrong, and when it is right again.
func (c *Clocks) judge(round election.Round) {
	switch wrong, news := round.Judge(c.cfg.Now(), measureAge, c.cfg.MaxOffset); {
	case !news:
	case wrong != nil:
		c.log.Error("this replica does not lead until its clock is set right", "err", wrong)
	default:
		c.log.Info("the clock is right again")
	}
}

// Views returns the measured offsets in the form of the API.
func (c *Clocks) Views() []api.ClockView {
	var views []api.ClockView
	for _, o := range c.peers.Offsets() {
		views = append(views, api.ClockView{
			Node: o.Node, OffsetSeconds: o.Ahead.Seconds(), UncertaintySeconds: o.Uncertainty.Seconds(), At: o.At,
		})
	}
	return views
}
