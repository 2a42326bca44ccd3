package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// The deadlines of tries, and the pauses between tries that ended before theirs. The first tries of a write have less time:
// what etcd's members send to a leader that has died is dropped and never answered, until they have elected another.
const (
	shortTry   = 300 * time.Millisecond
	tryTimeout = 3 * time.Second
	minPause   = 20 * time.Millisecond
	maxPause   = time.Second
)

// hurry knows how long answers take, and ends the tries that are under way when it is rung.
type hurry struct {
	bell bell

	mu      sync.Mutex
	typical time.Duration // guarded by mu: what answers take lately
	term    uint64        // guarded by mu: the last of etcd's own that was heard of; 0: none was
}

// led takes over in which of its own terms etcd answers, or tells of a change. Another one than before rings: what its members
// have sent to their last leader may be dropped, and never be answered.
func (h *hurry) led(term uint64) {
	h.mu.Lock()
	another := h.term != 0 && term > h.term
	h.term = max(h.term, term)
	h.mu.Unlock()
	if another {
		h.bell.ring()
	}
}

// firstTry is how long the first try of a write may take: longer where etcd is far away, or busy, since what is given up
// before its answer can be there has to be sent again, for ever.
func (h *hurry) firstTry() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return min(max(shortTry, 4*h.typical), tryTimeout)
}

// answered notes how long an answer took. A slow one counts at once, and is forgotten little by little.
func (h *hurry) answered(took time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.typical = max(took, h.typical-(h.typical-took)/16)
}

// end has cancel called with the next ring, unless stop is called before.
func (h *hurry) end(cancel context.CancelFunc) (stop func() bool) {
	return context.AfterFunc(h.bell.next(), cancel)
}

// errGone is what is left of a request whose callers have all given up.
var errGone = errors.New("outcome unknown: nobody waits for it any more")

// untilDefinite sends the same request until etcd answers it or refuses it, or ctx ends. open says whether it was sent
// before and may be applied at any time; unanswered is called for each sending after which that is so. The error is etcd's
// refusal, or wraps the cause of ctx. A try also ends, and is followed by the next, when h is rung.
func untilDefinite(ctx context.Context, open bool, h *hurry, send func(ctx context.Context) error, unanswered func()) error {
	var last error
	limit := h.firstTry()
	for pause := minPause; ; {
		if ctx.Err() != nil {
			if !open {
				return fmt.Errorf("not sent: %w", context.Cause(ctx))
			}
			return fmt.Errorf("outcome unknown (%v): %w", last, context.Cause(ctx))
		}
		sent := time.Now()
		try, cancel := context.WithTimeout(ctx, limit)
		settled := h.end(cancel)
		err := send(try)
		settled()
		cancel()
		took := time.Since(sent)
		if err == nil {
			h.answered(took)
		}
		switch {
		case err == nil, err == errGone, isCode(err, rpctypes.ErrNoSpace):
			return err
		case malformed(err) != nil:
			return malformed(err)
		case forbidden(err) && !open:
			return err
		case !forbidden(err):
			open = true
			unanswered()
		}
		last = err
		if took < limit {
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
			pause = min(2*pause, maxPause)
		}
		limit = min(limit+limit/2, tryTimeout)
	}
}

// malformed returns the definite meaning of an error by which etcd refuses a request whenever it is sent, and nil for any
// other. A lease that is gone stays gone, so no sending of the request was applied and left something, or ever will.
func malformed(err error) error {
	switch {
	case isCode(err, rpctypes.ErrRequestTooLarge),
		status.Code(err) == codes.ResourceExhausted && strings.Contains(err.Error(), "larger than max"): // gRPC's own limit
		return job.ErrTooLarge
	case isCode(err, rpctypes.ErrTooManyOps), isCode(err, rpctypes.ErrDuplicateKey), isCode(err, rpctypes.ErrEmptyKey),
		isCode(err, rpctypes.ErrLeaseNotFound):
		return err
	}
	return nil
}

// forbidden says whether etcd refused this sending, which says nothing about earlier ones.
func forbidden(err error) bool {
	return isCode(err, rpctypes.ErrPermissionDenied) || isCode(err, rpctypes.ErrInvalidAuthToken) || isCode(err, rpctypes.ErrUserEmpty)
}

// isCode compares by text as well as by identity: the in-process client and the network one wrap differently.
func isCode(err, want error) bool {
	if errors.Is(err, want) {
		return true
	}
	var e rpctypes.EtcdError
	return err != nil && errors.As(rpctypes.Error(err), &e) && e.Error() == want.Error()
}

// ask reads from etcd's majority, and asks again where the member that is asked comes to be doubted. Each try ends after limit.
func (s *Store) ask(ctx context.Context, limit time.Duration, key string, how ...clientv3.OpOption) (resp *clientv3.GetResponse, err error) {
	err = s.doubt.despite(ctx, func(ctx context.Context) (err error) {
		try, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		resp, err = s.client.Get(try, key, how...)
		return err
	})
	return resp, err
}
