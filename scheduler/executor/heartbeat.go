package executor

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// silence is the cause with which the context of an attempt ends if the attempt has reported no progress for limit. It is an
// ErrTimeout.
type silence struct{ limit time.Duration }

func (e *silence) Error() string        { return fmt.Sprintf("no heartbeat for %v", e.limit) }
func (e *silence) Is(target error) bool { return target == ErrTimeout }

// notice is how long a heartbeat may take to be noticed. While this process or its machine was suspended, the attempt may have made
// progress that is not read yet.
const notice = 100 * time.Millisecond

// WithHeartbeat returns a context that ends with an ErrTimeout if beat is not called for the time limit, by the monotonic
// clock. beat is cheap and safe for concurrent use, and does nothing after the context has ended. stop releases the resources.
// If limit is zero, the context needs no heartbeat.
func WithHeartbeat(parent context.Context, limit time.Duration) (ctx context.Context, beat func(), stop func()) {
	if limit <= 0 {
		return parent, func() {}, func() {}
	}
	return withAlarm(parent, limit)
}

// withAlarm is WithHeartbeat for a limit above zero. It is a function of its own so that an attempt without a limit allocates
// nothing.
func withAlarm(parent context.Context, limit time.Duration) (ctx context.Context, beat func(), stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	begun := time.Now()
	var last atomic.Int64 // when the attempt last made progress, in nanoseconds since begun
	alarm := time.AfterFunc(limit, func() {
		select {
		case <-time.After(notice):
		case <-ctx.Done():
		}
		if time.Since(begun)-time.Duration(last.Load()) >= limit {
			cancel(&silence{limit})
		}
	})
	beat = func() {
		if ctx.Err() == nil {
			last.Store(int64(time.Since(begun)))
			alarm.Reset(limit)
		}
	}
	return ctx, beat, func() {
		cancel(nil)
		alarm.Stop()
	}
}

// Progress reports progress of the attempt. A job with a heartbeat must report it in time.
func (r *Request) Progress() {
	if r.Beat != nil {
		r.Beat()
	}
}

// ReportReads returns a reader that reads from and reports progress for every read that returns data.
func (r *Request) ReportReads(from io.Reader) io.Reader { return reportingReader{from, r} }

type reportingReader struct {
	from io.Reader
	req  *Request
}

func (h reportingReader) Read(p []byte) (int, error) {
	n, err := h.from.Read(p)
	if n > 0 {
		h.req.Progress()
	}
	return n, err
}
