package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// Logs reads an attempt's output: here, from the worker that has it, or from the run's record, if that has all of it.
func (b *backend) Logs(ctx context.Context, jobName, id string, attempt int, follow bool) (io.ReadCloser, error) {
	if !b.ready.Load() {
		return nil, errNoStore
	}
	r, err := b.node.store.Run(ctx, jobName, id)
	if err != nil {
		return nil, asked(err)
	}
	number, worker := whoHas(&r, attempt)
	if worker == "" && attempt == 0 {
		return nil, fmt.Errorf("run %s has no attempt yet: %w", r.Name(), job.ErrNotFound)
	}
	if worker == "" {
		return nil, fmt.Errorf("run %s has no attempt %d: %w", r.Name(), attempt, job.ErrNotFound)
	}
	var out io.ReadCloser
	switch {
	case worker != b.node.set.Node.Name:
		out, err = b.remoteLogs(ctx, &r, number, worker, follow)
	case b.node.worker == nil:
		err = unavailable(fmt.Errorf("%s, which has the output, does not work any more", worker))
	case follow && !over(&r, number):
		return b.follow(ctx, &r, number), nil
	default:
		out, err = b.node.worker.Log(r.Name(), number)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !over(&r, number):
			return io.NopCloser(strings.NewReader("")), nil
		case errors.Is(err, fs.ErrNotExist):
			err = fmt.Errorf("attempt %d of run %s has printed nothing, or its output was removed: %w", number, r.Name(), job.ErrNotFound)
		}
	}
	if err == nil {
		return out, nil
	}
	if text, all := recorded(&r, number); all {
		return io.NopCloser(strings.NewReader(text)), nil
	}
	return nil, err
}

// over says whether an attempt has ended.
func over(r *job.Run, attempt int) bool {
	return attempt != r.Attempt || r.State.Terminal() || slices.ContainsFunc(r.Attempts, func(a job.Attempt) bool { return a.Number == attempt })
}

// recorded is the output of an attempt as far as the run's record has it, and whether that is all of it.
func recorded(r *job.Run, attempt int) (text string, all bool) {
	if attempt != r.Attempt || !over(r, attempt) || len(r.Output) >= job.OutputTail/2 {
		return "", false // a tail may be shorter than OutputTail, since it begins with a whole line
	}
	return r.Output, true
}

// follow copies what an attempt prints here until it has ended, or the reader is closed.
func (b *backend) follow(ctx context.Context, r *job.Run, attempt int) io.ReadCloser {
	pr, pw := io.Pipe()
	following, cancel := context.WithCancel(ctx)
	f := &followed{PipeReader: pr, cancel: cancel, done: make(chan struct{})}
	over := func() (bool, error) { return b.overNow(following, r, attempt) }
	go func() { // ends with ctx and by Close, which waits for it
		defer close(f.done)
		pw.CloseWithError(b.node.worker.Follow(following, r.Name(), attempt, pw, over))
	}()
	return f
}

// overNow asks the store whether an attempt of r has ended: an error if it will not be where it was. What the store does not say
// is not so.
func (b *backend) overNow(ctx context.Context, r *job.Run, attempt int) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	now, err := b.node.store.Run(ctx, r.Job, r.ID)
	switch {
	case errors.Is(err, job.ErrNotFound):
		return true, nil // so is what history had of it
	case err != nil:
		return false, nil
	case now.State == job.Pending && now.Attempt < attempt, now.Attempt == attempt && now.Worker != "" && now.Worker != r.Worker:
		return false, unavailable(fmt.Errorf("attempt %d of run %s was handed back before it began", attempt, r.Name()))
	}
	return over(&now, attempt), nil
}

// whoHas says which worker has the output of an attempt, 0 being the latest.
func whoHas(r *job.Run, attempt int) (number int, worker string) {
	if attempt == 0 || attempt == r.Attempt {
		if r.Worker != "" {
			return r.Attempt, r.Worker
		}
		if n := len(r.Attempts); attempt == 0 && n > 0 {
			return r.Attempts[n-1].Number, r.Attempts[n-1].Worker
		}
	}
	for _, a := range r.Attempts {
		if a.Number == attempt {
			return a.Number, a.Worker
		}
	}
	return attempt, ""
}

// remoteLogs asks the worker itself.
func (b *backend) remoteLogs(ctx context.Context, r *job.Run, attempt int, name string, follow bool) (io.ReadCloser, error) {
	w, err := b.node.store.Worker(ctx, name)
	switch {
	case errors.Is(err, job.ErrNotFound), err == nil && w.Addr == "":
		return nil, unavailable(fmt.Errorf("worker %s, which has the output, is not there", name))
	case err != nil:
		return nil, asked(err)
	case w.Addr == b.node.set.HTTP.Advertise: // it would be us that we ask, for ever
		return nil, unavailable(fmt.Errorf("worker %s, which has the output, says that it is at %s, as this node does", name, w.Addr))
	}
	scheme, transport, err := peers(b.node.set.HTTP.TLS)
	if err != nil {
		return nil, unavailable(err)
	}
	c, err := client.New(client.Config{Servers: scheme + w.Addr, Transport: transport})
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
func (b *backend) cutOff(f *fetched, r *job.Run, attempt int, worker string) {
	for since := time.Now(); time.Since(since) < overLong || !f.starves(overLong); pause(f.ctx, overEvery) {
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

// followed is the output of an attempt that may go on.
type followed struct {
	*io.PipeReader
	cancel context.CancelFunc
	done   chan struct{} // closed when nothing is copied any more
}

func (f *followed) Close() error {
	f.cancel()
	err := f.PipeReader.Close()
	<-f.done
	return err
}
