package store

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// shareFor is how long watches share an answer.
const shareFor = 50 * time.Millisecond

// prober asks etcd's majority for its revision. Watches that need it at about the same time share one request.
type prober struct {
	read  func(ctx context.Context) (rev int64, err error) // asks etcd's majority
	began time.Time                                        // the times of the probes count from here: watches probe together

	mu    sync.Mutex
	asked *question // guarded by mu: the last request, if it is under way or has an answer; otherwise nil
}

// question is one request for the revision.
type question struct {
	ctx    context.Context // of the watch that sent it
	at     time.Time       // when it was sent
	over   bool            // guarded by prober.mu: it has an answer
	done   chan struct{}   // closed when the fields below are set
	rev    int64
	failed error
}

// untilNext returns the time until the watches probe again.
func (p *prober) untilNext(now time.Time) time.Duration {
	return probeEvery - now.Sub(p.began)%probeEvery
}

// ask returns a revision that etcd's majority had reached at an instant. The instant is earlier than the call if another watch
// had asked already.
func (p *prober) ask(ctx context.Context) (at time.Time, rev int64, err error) {
	for {
		q, own := p.join(ctx)
		if own {
			q.rev, q.failed = p.read(ctx)
			p.end(q)
			return q.at, q.rev, q.failed
		}
		select {
		case <-ctx.Done():
			return time.Time{}, 0, fmt.Errorf("ask for the revision: %w", context.Cause(ctx))
		case <-q.done:
		}
		if q.failed == nil || q.ctx.Err() == nil { // otherwise the request ended with the watch that sent it
			return q.at, q.rev, q.failed
		}
	}
}

// join returns a request that the caller can share. If there is none, it returns a new one, which the caller must send.
func (p *prober) join(ctx context.Context) (q *question, own bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); p.asked == nil || p.asked.over && now.Sub(p.asked.at) > shareFor {
		p.asked, own = &question{ctx: ctx, at: now, done: make(chan struct{})}, true
	}
	return p.asked, own
}

// end publishes the answer to q.
func (p *prober) end(q *question) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if q.over = true; q.failed != nil {
		p.asked = nil
	}
	close(q.done)
}
