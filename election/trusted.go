package election

import (
	"context"
	"errors"
	"sync"
	"time"
)

// trustPoll is the time between two checks whether our clock is trusted.
const trustPoll = 500 * time.Millisecond

// RunTrusted is Run for a leader that decides by its wall clock. It campaigns only while clocks trusts our clock, and waits for the
// first judgement. If our clock turns out to be wrong, the leader stops as if ctx had ended. If its term ended because its clock
// was set, it leads again only after a new judgement.
func (e *Elector) RunTrusted(ctx context.Context, clocks *PeerClocks, lead func(ctx context.Context, t Term) error) error {
	return clocks.whileTrusted(ctx, func(trusted context.Context) error {
		return e.Run(trusted, func(ctx context.Context, t Term) error { return clocks.guard(ctx, t, lead) })
	})
}

// whileTrusted calls run, one call at a time, while our clock is trusted. It cancels the context of run when our clock
// is no longer trusted. It returns nil after ctx has ended, and otherwise the first error of run.
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
		trusted, cancel := context.WithCancel(ctx)
		var wg sync.WaitGroup
		wg.Go(func() {
			defer cancel()
			for trusted.Err() == nil && p.Trusted() == nil {
				wait(trusted, trustPoll)
			}
		})
		err := run(trusted)
		cancel()
		wg.Wait()
		if err != nil {
			return err
		}
	}
	return nil
}

// guard calls lead if our clock is trusted and was not set after it was judged. If the clock was set, the judgement is void, and
// guard calls Suspect: before lead, or after a term that ended because of it.
func (p *PeerClocks) guard(ctx context.Context, t Term, lead func(context.Context, Term) error) error {
	if err := p.Trusted(); err != nil {
		return err
	}
	if err := p.suspectIfSet(); err != nil {
		return err
	}
	err := lead(ctx, t)
	if errors.Is(err, ErrClockJumped) || errors.Is(context.Cause(ctx), ErrClockJumped) {
		p.Suspect()
	}
	return err
}
