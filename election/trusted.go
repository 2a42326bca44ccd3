package election

import (
	"context"
	"errors"
	"sync"
	"time"
)

// trustPoll is how often it is asked whether our clock is still, or again, to be trusted.
const trustPoll = 500 * time.Millisecond

// RunTrusted is Run for a leader that decides by its wall clock. It stands for election only while clocks trusts ours, and
// not before that was judged for the first time. A leader whose clock turns out to be wrong stops as if ctx had ended. One
// whose term ended because its clock was set leads again only after its clock has been judged anew.
func (e *Elector) RunTrusted(ctx context.Context, clocks *PeerClocks, lead func(ctx context.Context, t Term) error) error {
	return clocks.whileTrusted(ctx, func(standing context.Context) error {
		return e.Run(standing, func(ctx context.Context, t Term) error { return clocks.guard(ctx, t, lead) })
	})
}

// whileTrusted calls run, once at a time, while our clock is trusted, and cancels its context when it no longer is. It
// returns nil after ctx ended, and otherwise the first error of run.
func (p *PeerClocks) whileTrusted(ctx context.Context, run func(context.Context) error) error {
	select {
	case <-p.judged:
	case <-ctx.Done():
	}
	for ctx.Err() == nil {
		if p.Trusted() != nil {
			wait(ctx, trustPoll)
			continue
		}
		standing, withdraw := context.WithCancel(ctx)
		var wg sync.WaitGroup
		wg.Go(func() {
			defer withdraw()
			for standing.Err() == nil && p.Trusted() == nil {
				wait(standing, trustPoll)
			}
		})
		err := run(standing)
		withdraw()
		wg.Wait()
		if err != nil {
			return err
		}
	}
	return nil
}

// guard leads unless our clock is in doubt, and brings it in doubt if it was set meanwhile, or since it was judged: what was
// found then says nothing of it any more.
func (p *PeerClocks) guard(ctx context.Context, t Term, lead func(context.Context, Term) error) error {
	if err := p.Trusted(); err != nil {
		return err
	}
	if err := p.doubtIfSet(); err != nil {
		return err
	}
	err := lead(ctx, t)
	if errors.Is(err, ErrClockJumped) || errors.Is(context.Cause(ctx), ErrClockJumped) {
		p.Suspect()
	}
	return err
}
