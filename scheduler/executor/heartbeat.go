package executor

import (
	"context"
	"fmt"
	"io"
	"time"
)

// silence is the cause of the end of an attempt that has not reported progress for so long. It is an ErrTimeout.
type silence struct{ limit time.Duration }

func (e *silence) Error() string        { return fmt.Sprintf("no heartbeat for %v", e.limit) }
func (e *silence) Is(target error) bool { return target == ErrTimeout }

// WithHeartbeat returns a context that ends with an ErrTimeout when beat has not been called for limit, on the monotonic
// clock. beat is safe for concurrent use, is cheap, and does nothing once the context has ended; stop releases what this
// takes. Without a limit nothing has to beat.
func WithHeartbeat(parent context.Context, limit time.Duration) (ctx context.Context, beat func(), stop func()) {
	if limit <= 0 {
		return parent, func() {}, func() {}
	}
	ctx, cancel := context.WithCancelCause(parent)
	alarm := time.AfterFunc(limit, func() { cancel(&silence{limit}) })
	beat = func() {
		if ctx.Err() == nil {
			alarm.Reset(limit)
		}
	}
	return ctx, beat, func() {
		cancel(nil)
		alarm.Stop()
	}
}

// Progress reports that the attempt gets on, which a job with a heartbeat has to do every so often.
func (r *Request) Progress() {
	if r.Beat != nil {
		r.Beat()
	}
}

// Heard returns a reader of what the job says, of which every byte is progress.
func (r *Request) Heard(from io.Reader) io.Reader { return heard{from, r} }

type heard struct {
	from io.Reader
	req  *Request
}

func (h heard) Read(p []byte) (int, error) {
	n, err := h.from.Read(p)
	if n > 0 {
		h.req.Progress()
	}
	return n, err
}
