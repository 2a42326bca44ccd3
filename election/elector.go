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

// Pauses between two candidacies, each with a jitter of half of itself. They grow for a replica that leads badly, so that others
// lead. If etcd prevented the term, it prevents the terms of others too, so the pause stays short.
const (
	minPause       = 200 * time.Millisecond
	maxPause       = 5 * time.Second        // after a term
	maxFailedPause = 700 * time.Millisecond // after a candidacy without a term
)

// errLeadReturned is the cause of the context of a lead that has returned.
var errLeadReturned = errors.New("lead returned")

// Elector campaigns under one prefix and calls lead while it leads. Make it with New.
type Elector struct {
	cfg    Config
	client *clientv3.Client
	log    hclog.Logger

	failing   bool     // the failure of the last candidacy is logged; only Run's goroutine uses it
	abandoned []*Lease // leases that earlier candidacies could not revoke; only Run's goroutine uses it

	mu     sync.Mutex // guards the fields below
	status Status     // its LeaseDeadline stays zero; method Status fills it from lease
	lease  *Lease     // nil outside a candidacy
}

// New returns an Elector that does nothing until Run is called. The client may use gRPC or be etcd's in-process client. The
// caller closes it after Run has returned.
func New(cfg Config, client *clientv3.Client, log hclog.Logger) *Elector {
	return &Elector{cfg: cfg.WithDefaults(), client: client, log: log}
}

// Run campaigns until ctx ends, and calls lead for each term that it wins. It calls lead again only after the previous call has
// returned. Two calls of Run must not overlap.
//
// lead's context ends with a cause that wraps ErrTermLost when the term has ended or may have ended, and ErrStopped when ctx has
// ended. lead must then return soon. After ErrStopped the lease is renewed until lead has returned, and then the key is
// resigned, so that a drain finishes under its own term. After ErrTermLost the lease is no longer renewed. If lead returns by
// itself, Run resigns the term and lets others lead.
//
// Run returns nil after ctx has ended, at most some seconds after lead has returned. It does so too if etcd does not answer; the
// expiry of the lease then removes the key. It returns an error only for an invalid config or a closed client.
func (e *Elector) Run(ctx context.Context, lead func(ctx context.Context, t Term) error) error {
	if err := e.cfg.Validate(); err != nil {
		return fmt.Errorf("run elector: %w", err)
	}
	led, failed := pauses(maxPause), pauses(maxFailedPause)
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
			pause = failed
			e.reportFailure(err)
		}
		if e.cfg.Clock().Mono.Sub(began) > e.cfg.TTL {
			pause.Reset()
		}
		wait(ctx, pause.NextBackOff())
	}
	return nil
}

// pauses returns pauses that double from minPause to most.
func pauses(most time.Duration) *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval, b.Multiplier = minPause, most, 2
	return b
}

// reportFailure shows and logs why a candidacy won no term. It warns only about the first of several failures in a row, because
// the same failure comes every few seconds while etcd does not answer.
func (e *Elector) reportFailure(err error) {
	e.setErr(err)
	if e.failing {
		e.log.Debug("candidacy failed again", "err", err)
		return
	}
	e.failing = true
	e.log.Warn("candidacy failed", "err", err)
}

// clearFailure ends a series of failures.
func (e *Elector) clearFailure() {
	e.setErr(nil)
	if e.failing {
		e.failing = false
		e.log.Info("candidate again")
	}
}

// recordContact records that the quorum has answered now.
func (e *Elector) recordContact() { e.cfg.Contact.Record(e.cfg.Clock().Mono) }

// wait returns after d, or when ctx ends.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
