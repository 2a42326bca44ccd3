package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
)

// closers holds the steps that end the parts of a node. It runs them in reverse order of their start.
type closers struct {
	mu    sync.Mutex
	steps []closer   // guarded by mu
	errs  chan error // the first errors of parts that ended by themselves
}

type closer struct {
	name string
	end  func() error
}

// add registers end as a step of close.
func (c *closers) add(name string, end func() error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.steps = append(c.steps, closer{name, end})
}

// failed returns a channel with the errors of parts that ended by themselves, the first of them at least.
func (c *closers) failed() <-chan error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.errs == nil {
		c.errs = make(chan error, 16)
	}
	return c.errs
}

// background returns a starter. The goroutines that it starts do not end with ctx. They end when close runs their steps.
func (c *closers) background(ctx context.Context) starter {
	c.failed()
	return func(name string, run func(context.Context) error) func() error {
		life, cancel := context.WithCancel(context.WithoutCancel(ctx))
		done := make(chan struct{})
		go func() { // the step of close below waits for it
			defer close(done)
			if err := run(life); err != nil && life.Err() == nil {
				select {
				case c.errs <- fmt.Errorf("%s: %w", name, err):
				default: // the node ends because of an earlier one
				}
			}
		}()
		end := func() error { cancel(); <-done; return nil }
		c.add(name, end)
		return end
	}
}

// starter runs a function in the background. The function ends when end is called, and end waits for that. end may be called
// again.
type starter func(name string, run func(context.Context) error) (end func() error)

// close runs all steps, the last one first, and returns all their errors.
func (c *closers) close() error {
	c.mu.Lock()
	steps := c.steps
	c.mu.Unlock()
	var errs []error
	for _, step := range slices.Backward(steps) {
		if err := step.end(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, fmt.Errorf("%s: %w", step.name, err))
		}
	}
	return errors.Join(errs...)
}
