package election

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/hashicorp/go-hclog"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Pauses between two candidacies, each spread by half of itself either way. They grow for a replica that leads badly, which is
// to let others lead; but where etcd kept it from leading, it keeps others from it as well, and nobody leads until the next try.
const (
	minPause     = 200 * time.Millisecond
	maxPause     = 5 * time.Second        // after a term
	maxVainPause = 700 * time.Millisecond // after a candidacy that came to none
)

// errLeadReturned is the cause of a context whose lead is over anyway.
var errLeadReturned = errors.New("lead returned")

// Elector campaigns under one prefix and calls lead while it leads. Make it with New.
type Elector struct {
	cfg    Config
	client *clientv3.Client
	log    hclog.Logger

	failing bool     // the last candidacy failed and that was logged; only Run's goroutine touches it
	left    []*Lease // that candidacies of ours could not remove; only Run's goroutine touches it

	mu     sync.Mutex // guards the fields below
	status Status     // its LeaseDeadline stays zero; Status fills it from lease
	lease  *Lease     // nil outside a candidacy
}

// New returns an Elector that does nothing until Run is called. The client may speak gRPC or be etcd's in-process client;
// it remains the caller's to close, after Run has returned.
func New(cfg Config, client *clientv3.Client, log hclog.Logger) *Elector {
	return &Elector{cfg: cfg.WithDefaults(), client: client, log: log}
}

// Run campaigns until ctx ends, and calls lead for each term it wins, one at a time, never before the previous call has
// returned. It must not run twice at the same time.
//
// lead's context ends with a cause that wraps ErrTermLost when the term ended or may have, and ErrStopped when ctx ended;
// lead must then return soon. After ErrStopped the lease is renewed until it has, and only then the key is resigned, so that
// a drain is finished under its own term. After ErrTermLost nothing is renewed. When lead returns by itself, the term is
// resigned and others get their turn.
//
// Run returns nil after ctx ended, also when etcd is out of reach (the lease then removes the key), at most some seconds
// after lead has returned; and an error only for what no retry mends: an impossible config or a closed client.
func (e *Elector) Run(ctx context.Context, lead func(ctx context.Context, t Term) error) error {
	if err := e.cfg.Validate(); err != nil {
		return fmt.Errorf("run elector: %w", err)
	}
	led, vain := pauses(maxPause), pauses(maxVainPause)
	for ctx.Err() == nil {
		if err := e.client.Ctx().Err(); err != nil {
			return fmt.Errorf("run elector: client is closed: %w", err)
		}
		began := e.cfg.Clock().Mono
		err := e.runCandidacy(ctx, lead)
		if ctx.Err() != nil {
			break
		}
		pause := led
		if err != nil {
			pause = vain
			e.report(err)
		}
		if e.cfg.Clock().Mono.Sub(began) > e.cfg.TTL {
			pause.Reset()
		}
		wait(ctx, pause.NextBackOff())
	}
	return nil
}

// pauses grow to most.
func pauses(most time.Duration) *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval, b.Multiplier = minPause, most, 2
	return b
}

// report says why a candidacy came to no term, once per change: while etcd is out of reach the same failure comes every few
// seconds.
func (e *Elector) report(err error) {
	e.setErr(err)
	if e.failing {
		e.log.Debug("candidacy failed again", "err", err)
		return
	}
	e.failing = true
	e.log.Warn("candidacy failed", "err", err)
}

// recovered ends a streak of failures.
func (e *Elector) recovered() {
	e.setErr(nil)
	if e.failing {
		e.failing = false
		e.log.Info("candidate again")
	}
}

// hear notes an answer of etcd's majority.
func (e *Elector) hear() { e.cfg.Contact.Record(e.cfg.Clock().Mono) }

// wait returns after d, or when ctx ends.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
