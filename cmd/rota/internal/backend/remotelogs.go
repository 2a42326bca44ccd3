package backend

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/loop"
	"github.com/rota-scheduler/rota/cmd/rota/internal/peer"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// workerTimeout is how long a worker may take to begin its answer. A client asks another replica afterwards, and waits for less
// than five seconds in all.
const workerTimeout = 2 * time.Second

// remoteLogs reads an attempt's output from the worker that has it.
func (b *Backend) remoteLogs(ctx context.Context, r *job.Run, attempt int, name string, follow bool) (io.ReadCloser, error) {
	w, err := b.store.Worker(ctx, name)
	switch {
	case errors.Is(err, job.ErrNotFound), err == nil && w.Addr == "":
		return nil, unavailable(fmt.Errorf("worker %s, which has the output, is not there", name))
	case err != nil:
		return nil, storeError(err)
	case w.Addr == b.cfg.Addr: // the address is this process's own, so the request would come back here
		return nil, unavailable(fmt.Errorf("worker %s, which has the output, says that it is at %s, as this node does", name, w.Addr))
	}
	c, err := peer.Dial(b.cfg.TLS, w.Addr, name, workerTimeout)
	if err != nil {
		return nil, unavailable(err)
	}
	ctx, cut := context.WithCancelCause(ctx)
	out, err := c.Logs(ctx, r.Name(), attempt, follow)
	if err != nil {
		cut(nil)
		c.Close()
		if errors.Is(err, job.ErrNotFound) {
			return nil, err
		}
		return nil, unavailable(fmt.Errorf("worker %s, which has the output, does not answer: %w", name, err))
	}
	f := &fetched{ReadCloser: out, client: c, ctx: ctx, cut: cut}
	if follow {
		f.watching.Go(func() { b.cutOff(f, r, attempt, name) })
	}
	return f, nil
}

// If a worker is paused, or if its machine has vanished, its answer never ends. So the answer is cut off when two conditions
// hold: the attempt ended at least cutOffAfter ago, and no bytes came since then. A healthy worker ends its answer sooner.
const (
	overPoll    = time.Second
	cutOffAfter = 10 * time.Second
)

// cutOff cuts f off if its attempt has ended, but the worker does not end the answer.
func (b *Backend) cutOff(f *fetched, r *job.Run, attempt int, worker string) {
	for since := time.Now(); time.Since(since) < cutOffAfter || !f.starves(cutOffAfter); loop.Pause(f.ctx, overPoll) {
		if f.ctx.Err() != nil {
			return
		}
		if over, err := b.overNow(f.ctx, r, attempt); !over && err == nil {
			since = time.Now()
		}
	}
	f.cut(unavailable(fmt.Errorf("attempt %d of run %s is over, and worker %s does not end its output", attempt, r.Name(), worker)))
}

// fetched is the answer of another process.
type fetched struct {
	io.ReadCloser
	client   *client.Client
	ctx      context.Context // context of the request
	cut      context.CancelCauseFunc
	watching sync.WaitGroup
	waits    atomic.Int64 // start of the present Read, in Unix nanoseconds; 0: no Read waits
}

// starves reports whether a Read has waited for at least d. It returns false while the caller does not read.
func (f *fetched) starves(d time.Duration) bool {
	at := f.waits.Load()
	return at != 0 && time.Since(time.Unix(0, at)) >= d
}

// Read reads the answer. If the answer was cut off, Read returns the reason as its error.
func (f *fetched) Read(p []byte) (int, error) {
	f.waits.Store(time.Now().UnixNano())
	defer f.waits.Store(0)
	n, err := f.ReadCloser.Read(p)
	if err != nil && f.ctx.Err() != nil {
		err = context.Cause(f.ctx)
	}
	return n, err
}

// Close ends the request, and waits until the goroutine that watches it has ended.
func (f *fetched) Close() error {
	defer f.client.Close()
	f.cut(context.Canceled)
	err := f.ReadCloser.Close()
	f.watching.Wait()
	return err
}
