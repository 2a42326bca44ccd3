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

// The deadlines of tries, and the pauses between tries that ended before their deadline. The first tries of a write are short: when
// etcd's leader dies, its members drop what they had forwarded to it, and never answer.
const (
	shortTry   = 300 * time.Millisecond
	tryTimeout = 3 * time.Second
	minPause   = 20 * time.Millisecond
	maxPause   = time.Second
)

// tries decides how long a try may take, by the latency of earlier ones, and ends the tries under way when etcd elects
// a new leader.
type tries struct {
	resend signal // ends all tries under way, so that they are sent again

	mu      sync.Mutex
	latency time.Duration // guarded by mu: of recent answers
	term    uint64        // guarded by mu: the latest term of etcd that an answer named; 0: none did
}

// observeTerm records the etcd term that an answer named. A new term fires resend: etcd's members may have dropped what they sent
// to the last leader.
func (t *tries) observeTerm(term uint64) {
	t.mu.Lock()
	elected := t.term != 0 && term > t.term
	t.term = max(t.term, term)
	t.mu.Unlock()
	if elected {
		t.resend.notify()
	}
}

// firstTry returns how long the first try of a request may take. It is longer where etcd is far away or busy: a request that is
// always given up before its answer can arrive would be sent for ever.
func (t *tries) firstTry() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return min(max(shortTry, 4*t.latency), tryTimeout)
}

// observeLatency records how long an answer took. A slow answer counts in full, and decays slowly.
func (t *tries) observeLatency(took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.latency = max(took, t.latency-(t.latency-took)/16)
}

// cancelOnResend calls cancel when resend fires next, unless stop is called before.
func (t *tries) cancelOnResend(cancel context.CancelFunc) (stop func() bool) {
	return context.AfterFunc(t.resend.next(), cancel)
}

// errAbandoned is returned for a request whose callers have all given up.
var errAbandoned = fmt.Errorf("%w: no caller waits for it any more", job.ErrOutcomeUnknown)

// untilDefinite sends the same request until etcd answers or refuses it, or ctx ends. The error is etcd's refusal, or wraps the
// cause of ctx.
//
// open reports that the request was sent before and may still be applied at any time. untilDefinite calls unanswered after each
// sending for which that becomes true.
func untilDefinite(ctx context.Context, open bool, t *tries, send func(ctx context.Context) error, unanswered func()) error {
	var last error
	limit := t.firstTry()
	for pause := minPause; ; {
		if ctx.Err() != nil {
			if !open {
				return fmt.Errorf("not sent: %w", context.Cause(ctx))
			}
			//nolint:errorlint // callers must not match the deadline of a try
			return fmt.Errorf("%w (%v): %w", job.ErrOutcomeUnknown, last, context.Cause(ctx))
		}
		sent := time.Now()
		try, cancel := context.WithTimeout(ctx, limit)
		stop := t.cancelOnResend(cancel)
		err := send(try)
		stop()
		cancel()
		took := time.Since(sent)
		if err == nil {
			t.observeLatency(took)
		}
		switch {
		case err == nil, errors.Is(err, errAbandoned), isCode(err, rpctypes.ErrNoSpace):
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

// malformed returns rota's error if etcd refuses a request with err and would refuse it whenever it is sent; nil for
// any other err. Then no earlier sending was applied, and no later one will be: an expired lease stays expired.
func malformed(err error) error {
	switch {
	case isCode(err, rpctypes.ErrRequestTooLarge),
		status.Code(err) == codes.ResourceExhausted && strings.Contains(err.Error(), "larger than max"): // a limit of gRPC
		return job.ErrTooLarge
	case isCode(err, rpctypes.ErrTooManyOps), isCode(err, rpctypes.ErrDuplicateKey), isCode(err, rpctypes.ErrEmptyKey),
		isCode(err, rpctypes.ErrLeaseNotFound):
		return err
	}
	return nil
}

// forbidden reports whether etcd refused this sending for lack of permission. An earlier sending may still have been applied.
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

// ask reads from etcd's majority, and asks again if the member that it asks becomes suspect. Each try ends after limit. Within that
// time, ask repeats a read that a member refuses because etcd has elected another leader.
func (s *Store) ask(
	ctx context.Context, limit time.Duration, key string, opts ...clientv3.OpOption,
) (resp *clientv3.GetResponse, err error) {
	err = s.suspect.restarting(ctx, func(ctx context.Context) (err error) {
		try, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		for {
			resp, err = s.client.Get(try, key, opts...)
			if !isCode(err, rpctypes.ErrLeaderChanged) {
				return err
			}
			select {
			case <-try.Done():
				return err
			case <-time.After(minPause):
			}
		}
	})
	return resp, err
}
