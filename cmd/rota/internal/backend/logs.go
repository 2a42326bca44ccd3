package backend

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// Logs reads an attempt's output. It comes from this process, from the worker that has it, from output.store, or from the run's
// record if the record has all of it.
func (b *Backend) Logs(ctx context.Context, jobName, id string, attempt int, follow bool) (io.ReadCloser, error) {
	if !b.ready.Load() {
		return nil, errNoStore
	}
	r, err := b.store.Run(ctx, jobName, id)
	if err != nil {
		return nil, storeError(err)
	}
	number, worker := outputOf(&r, attempt)
	if worker == "" && attempt == 0 && r.State.Terminal() {
		return nil, noOutput(fmt.Sprintf("run %s was %s and never began (%s)", r.Name(), r.State, r.Reason))
	}
	if worker == "" && attempt == 0 {
		return nil, noOutput(fmt.Sprintf("run %s has no attempt yet", r.Name()))
	}
	if worker == "" {
		return nil, noOutput(fmt.Sprintf("run %s has no attempt %d", r.Name(), attempt))
	}
	var out io.ReadCloser
	switch {
	case worker != b.cfg.Node && api.MeantFor(ctx) != "": // a forwarded request is not forwarded again: it could loop
		err = unavailable(fmt.Errorf("worker %s is not at this address, %s is", worker, b.cfg.Node))
	case worker != b.cfg.Node:
		out, err = b.remoteLogs(ctx, &r, number, worker, follow)
	case b.worker == nil:
		err = unavailable(fmt.Errorf("%s, which has the output, does not work any more", worker))
	case follow && !over(&r, number):
		return b.follow(ctx, &r, number), nil
	default:
		out, err = b.worker.Log(r.Name(), number)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !over(&r, number):
			return io.NopCloser(strings.NewReader("")), nil
		case errors.Is(err, fs.ErrNotExist):
			err = noOutput(fmt.Sprintf("attempt %d of run %s printed nothing, or its output was removed", number, r.Name()))
		}
	}
	if err == nil {
		return out, nil
	}
	if b.cfg.StoredLog != nil && over(&r, number) {
		if out, err := b.cfg.StoredLog(ctx, r.Name(), number); err == nil {
			return out, nil
		}
	}
	if text, all := recorded(&r, number); all {
		return io.NopCloser(strings.NewReader(text)), nil
	}
	return nil, err
}

// noOutput is job.ErrNotFound with the sentence that says why there is no output.
type noOutput string

func (e noOutput) Error() string { return string(e) }

func (e noOutput) Is(target error) bool { return target == job.ErrNotFound }

// over reports whether an attempt has ended.
func over(r *job.Run, attempt int) bool {
	ended := func(a job.Attempt) bool { return a.Number == attempt }
	return attempt != r.Attempt || r.State.Terminal() || slices.ContainsFunc(r.Attempts, ended)
}

// recorded returns the output of an attempt that the run's record has. all reports whether it is the complete output.
func recorded(r *job.Run, attempt int) (text string, all bool) {
	if attempt != r.Attempt || !over(r, attempt) || len(r.Output) >= job.OutputTail/2 {
		return "", false // the output may be incomplete; a tail can be shorter than OutputTail, because it begins with a whole line
	}
	return r.Output, true
}

// follow copies the output of an attempt on this process until the attempt ends, or the reader is closed.
func (b *Backend) follow(ctx context.Context, r *job.Run, attempt int) io.ReadCloser {
	pr, pw := io.Pipe()
	following, cancel := context.WithCancel(ctx)
	f := &followed{PipeReader: pr, cancel: cancel, done: make(chan struct{})}
	over := func() (bool, error) { return b.overNow(following, r, attempt) }
	go func() { // ends with ctx, or when Close is called, which waits for it
		defer close(f.done)
		pw.CloseWithError(b.worker.Follow(following, r.Name(), attempt, pw, over))
	}()
	return f
}

// overNow reads from the store whether an attempt of r has ended. It returns an error if the worker returned the attempt before
// it started. If the store does not answer, overNow returns false.
func (b *Backend) overNow(ctx context.Context, r *job.Run, attempt int) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	now, err := b.store.Run(ctx, r.Job, r.ID)
	switch {
	case errors.Is(err, job.ErrNotFound):
		return true, nil // the run was removed from the history
	case err != nil:
		return false, nil
	case now.State == job.Pending && now.Attempt < attempt, now.Attempt == attempt && now.Worker != "" && now.Worker != r.Worker:
		return false, unavailable(fmt.Errorf("attempt %d of run %s was handed back before it began", attempt, r.Name()))
	}
	return over(&now, attempt), nil
}

// outputOf returns the number of an attempt and the worker that has its output, "" if there is none. Attempt 0 is the latest.
func outputOf(r *job.Run, attempt int) (number int, worker string) {
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

// followed is the output of an attempt that may still be running.
type followed struct {
	*io.PipeReader
	cancel context.CancelFunc
	done   chan struct{} // closed when the copy has ended
}

// Close ends the copy, and waits for its end.
func (f *followed) Close() error {
	f.cancel()
	err := f.PipeReader.Close()
	<-f.done
	return err
}
