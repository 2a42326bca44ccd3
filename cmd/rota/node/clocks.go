package node

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// clocks measures how far the other replicas' clocks are from ours.
type clocks struct {
	node   *Node
	leader election.LeaderClock
	own    election.OwnClock
	peers  *election.PeerClocks
	scheme string
	client http.Client
}

// The pace of measuring, and how long a measurement counts.
const (
	measureEvery   = 2 * time.Second
	measureTimeout = time.Second
	measureAge     = 30 * time.Second
)

func newClocks(n *Node) (*clocks, error) {
	scheme, transport, err := peers(n.set.HTTP.TLS)
	if err != nil {
		return nil, err
	}
	return &clocks{
		node: n, peers: election.NewPeerClocks(n.clock),
		scheme: scheme, client: http.Client{Transport: transport, Timeout: measureTimeout},
	}, nil
}

// run measures until ctx ends, from when it is known who the others are.
func (c *clocks) run(ctx context.Context) error {
	defer c.client.CloseIdleConnections()
	if c.node.cfg.Role == Replica {
		if err := c.node.mirror.WaitFor(ctx, 1); err != nil {
			return err
		}
	}
	for ctx.Err() == nil {
		c.measure(ctx)
		pause(ctx, measureEvery)
	}
	return nil
}

// measure asks every other replica once.
func (c *clocks) measure(ctx context.Context) {
	round := c.peers.Round()
	var wg sync.WaitGroup
	for _, r := range c.others(ctx) {
		if r.Name == c.node.set.Node.Name || r.Addr == "" {
			continue
		}
		wg.Go(func() {
			if o, err := c.ask(ctx, r.Name, r.Addr); err == nil {
				round.Record(o)
			}
		})
	}
	wg.Wait()
	if c.node.cfg.Role == Replica { // a worker's own clock decides nothing
		c.judge(round)
	}
}

// others are the replicas, as far as they are known.
func (c *clocks) others(ctx context.Context) []*job.Replica {
	if c.node.cfg.Role == Replica {
		return c.node.mirror.Replicas()
	}
	asking, cancel := context.WithTimeout(ctx, measureTimeout)
	defer cancel()
	replicas, err := c.node.store.Replicas(asking) // a worker has no mirror
	if err != nil && ctx.Err() == nil {
		c.node.log.Debug("the replicas' clocks are not compared", "err", err)
	}
	return replicas
}

// ask takes the four time stamps.
func (c *clocks) ask(ctx context.Context, name, addr string) (election.Offset, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.scheme+addr+"/clock", nil)
	if err != nil {
		return election.Offset{}, fmt.Errorf("ask %s for its clock: %w", name, err)
	}
	sent, began := c.node.now(), time.Now()
	resp, err := c.client.Do(req)
	took := time.Since(began)
	if err != nil {
		return election.Offset{}, fmt.Errorf("ask %s for its clock: %w", name, err)
	}
	defer resp.Body.Close()
	var v api.ClockReading
	if err := json.NewDecoder(resp.Body).Decode(&v); err != nil || resp.StatusCode != http.StatusOK {
		return election.Offset{}, fmt.Errorf("ask %s for its clock: status %d: %v", name, resp.StatusCode, err)
	}
	if v.Node != name { // such as we ourselves, at an address that means another machine elsewhere
		return election.Offset{}, fmt.Errorf("ask %s for its clock: %s answers at %s", name, v.Node, addr)
	}
	c.leader.Record(v.Term, v.Answered, took, began.Add(took))
	return election.Measure(name, sent, v.Received, v.Answered, took), nil
}

// answers says whether the process called name answers at addr. That somebody takes a connection there would not do: for a process
// that is stopped, its kernel does.
func (c *clocks) answers(ctx context.Context, name, addr string) bool {
	_, err := c.ask(ctx, name, addr)
	return err == nil
}

// clock reads this machine's clocks, of which the wall clock is the one that the node decides by.
func (n *Node) clock() election.Reading {
	r := election.SystemClock()
	r.Wall = n.now().Round(0).UTC()
	return r
}

// judge compares ours with the others, and says so when it turns out to be wrong, or right again.
func (c *clocks) judge(round election.Round) {
	switch wrong, news := round.Judge(c.node.now(), measureAge, c.node.set.Dispatch.MaxClockOffset); {
	case !news:
	case wrong != nil:
		c.node.log.Error("this replica does not lead until its clock is set right", "err", wrong)
	default:
		c.node.log.Info("the clock is right again")
	}
}

// views shows the offsets.
func (c *clocks) views() []api.ClockView {
	var views []api.ClockView
	for _, o := range c.peers.Offsets() {
		views = append(views, api.ClockView{Node: o.Node, OffsetSeconds: o.Ahead.Seconds(), UncertaintySeconds: o.Uncertainty.Seconds(), At: o.At})
	}
	return views
}
