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

// remoteLogs asks the worker itself.
func (b *Backend) remoteLogs(ctx context.Context, r *job.Run, attempt int, name string, follow bool) (io.ReadCloser, error) {
	w, err := b.store.Worker(ctx, name)
	switch {
	case errors.Is(err, job.ErrNotFound), err == nil && w.Addr == "":
		return nil, unavailable(fmt.Errorf("worker %s, which has the output, is not there", name))
	case err != nil:
		return nil, asked(err)
	case w.Addr == b.cfg.Addr: // it would be us that we ask
		return nil, unavailable(fmt.Errorf("worker %s, which has the output, says that it is at %s, as this node does", name, w.Addr))
	}
	c, err := peer.Dial(b.cfg.TLS, w.Addr, name, 0)
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

// A worker that is paused, or whose machine has vanished, does not end what it sends: it is cut off when its attempt has been
// over, and nothing has come, for so long. That is longer than a worker itself goes on.
const (
	overEvery = time.Second
	overLong  = 10 * time.Second
)

// cutOff ends f when its attempt is over and its worker does not say so.
func (b *Backend) cutOff(f *fetched, r *job.Run, attempt int, worker string) {
	for since := time.Now(); time.Since(since) < overLong || !f.starves(overLong); loop.Pause(f.ctx, overEvery) {
		if f.ctx.Err() != nil {
			return
		}
		if over, err := b.overNow(f.ctx, r, attempt); !over && err == nil {
			since = time.Now()
		}
	}
	f.cut(unavailable(fmt.Errorf("attempt %d of run %s is over, and worker %s does not end its output", attempt, r.Name(), worker)))
}

// fetched is another node's answer.
type fetched struct {
	io.ReadCloser
	client   *client.Client
	ctx      context.Context // of the request
	cut      context.CancelCauseFunc
	watching sync.WaitGroup
	waits    atomic.Int64 // since when somebody waits for more, in Unix nanoseconds; 0: nobody does
}

// starves says whether more has been waited for, in vain, for so long. Who takes nothing for a while does not wait.
func (f *fetched) starves(d time.Duration) bool {
	at := f.waits.Load()
	return at != 0 && time.Since(time.Unix(0, at)) >= d
}

func (f *fetched) Read(p []byte) (int, error) {
	f.waits.Store(time.Now().UnixNano())
	defer f.waits.Store(0)
	n, err := f.ReadCloser.Read(p)
	if err != nil && f.ctx.Err() != nil {
		err = context.Cause(f.ctx)
	}
	return n, err
}

func (f *fetched) Close() error {
	defer f.client.Close()
	f.cut(context.Canceled)
	err := f.ReadCloser.Close()
	f.watching.Wait()
	return err
}
