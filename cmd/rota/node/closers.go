package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
)

// closers ends what a node has started, in reverse order.
type closers struct {
	mu    sync.Mutex
	steps []closer   // guarded by mu
	errs  chan error // of parts that ended by themselves
}

type closer struct {
	name string
	end  func() error
}

// add registers a step of close.
func (c *closers) add(name string, end func() error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.steps = append(c.steps, closer{name, end})
}

// failed receives the error of a part that ended by itself.
func (c *closers) failed() <-chan error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.errs == nil {
		c.errs = make(chan error, 16)
	}
	return c.errs
}

// background returns a starter. Its goroutines do not end with ctx. They end when close reaches them.
func (c *closers) background(ctx context.Context) starter {
	c.failed()
	return func(name string, run func(context.Context) error) func() error {
		life, cancel := context.WithCancel(context.WithoutCancel(ctx))
		done := make(chan struct{})
		go func() { // waited for by the closer below
			defer close(done)
			if err := run(life); err != nil && life.Err() == nil {
				c.errs <- fmt.Errorf("%s: %w", name, err)
			}
		}()
		end := func() error { cancel(); <-done; return nil }
		c.add(name, end)
		return end
	}
}

// starter runs a function in the background until end is called, which waits for it. end may be called again.
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
