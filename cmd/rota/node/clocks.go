package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// clocks measures how far the other replicas' clocks are from ours.
type clocks struct {
	node     *Node
	leader   leaderClock
	scheme   string
	client   http.Client
	measured chan struct{} // closed when every replica that was there at the start has been asked

	mu      sync.Mutex
	offsets map[string]election.Offset // guarded by mu, by node
	skewed  error                      // guarded by mu: why our clock is not to be trusted
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
		node: n, scheme: scheme, client: http.Client{Transport: transport, Timeout: measureTimeout},
		measured: make(chan struct{}), offsets: make(map[string]election.Offset),
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
	c.measure(ctx)
	close(c.measured)
	pause(ctx, measureEvery)
	for ctx.Err() == nil {
		c.measure(ctx)
		pause(ctx, measureEvery)
	}
	return nil
}

// measure asks every other replica once.
func (c *clocks) measure(ctx context.Context) {
	var wg sync.WaitGroup
	for _, r := range c.others(ctx) {
		if r.Name == c.node.set.Node.Name || r.Addr == "" {
			continue
		}
		wg.Go(func() {
			if o, err := c.ask(ctx, r.Name, r.Addr); err == nil {
				c.mu.Lock()
				c.offsets[r.Name] = o
				c.mu.Unlock()
			}
		})
	}
	wg.Wait()
	if c.node.cfg.Role == Replica { // a worker's own clock decides nothing
		c.judge()
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
	c.leader.note(v.Term, v.Answered, took, began.Add(took))
	return election.Measure(name, sent, v.Received, v.Answered, took), nil
}

// clock reads this machine's clocks, of which the wall clock is the one that the node decides by.
func (n *Node) clock() election.Reading {
	r := election.SystemClock()
	r.Wall = n.now().Round(0).UTC()
	return r
}

// judge compares ours with the others.
func (c *clocks) judge() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.node.now()
	var offsets []election.Offset
	for name, o := range c.offsets {
		if now.Sub(o.At) > measureAge || o.At.After(now.Add(time.Second)) {
			delete(c.offsets, name)
			continue
		}
		offsets = append(offsets, o)
	}
	before := c.skewed
	c.skewed = election.Skewed(offsets, c.node.set.Dispatch.MaxClockOffset)
	switch {
	case c.skewed != nil && (before == nil || errors.Is(before, errClockSet)): // known to be set, and now to be wrong
		c.node.log.Error("this replica does not lead until its clock is set right", "err", c.skewed)
	case c.skewed == nil && before != nil:
		c.node.log.Info("the clock is right again")
	}
}

// doubt keeps us from leading until the others have been asked again: our clock was set, and what was measured is worth
// nothing.
func (c *clocks) doubt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.offsets)
	c.skewed = errClockSet
}

var errClockSet = errors.New("our clock was set, and has not been compared with the others since")

// trusted returns nil if our clock may be led by.
func (c *clocks) trusted() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.skewed
}

// views shows the offsets.
func (c *clocks) views() []api.ClockView {
	c.mu.Lock()
	defer c.mu.Unlock()
	var views []api.ClockView
	for _, o := range c.offsets {
		views = append(views, api.ClockView{Node: o.Node, OffsetSeconds: o.Ahead.Seconds(), UncertaintySeconds: o.Uncertainty.Seconds(), At: o.At})
	}
	slices.SortFunc(views, func(a, b api.ClockView) int { return strings.Compare(a.Node, b.Node) })
	return views
}
