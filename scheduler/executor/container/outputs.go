package container

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// outputPath is the file for outputs in a container. It is copied into the container before its start and out of it after its end,
// because the worker and the engine need not share a file system.
const outputPath = "/rota-output"

// putOutputFile makes the file for outputs, empty and writable by every user.
func (e *engine) putOutputFile(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	head := &tar.Header{Typeflag: tar.TypeReg, Name: strings.TrimPrefix(outputPath, "/"), Mode: 0o666}
	if err := errors.Join(w.WriteHeader(head), w.Close()); err != nil {
		return err
	}
	root := url.Values{"path": {"/"}}
	resp, err := e.open(ctx, http.MethodPut, "/containers/"+id+"/archive", root, archive.Bytes(), "application/x-tar")
	if err != nil {
		return fmt.Errorf("make the file of $ROTA_OUTPUT: %w", err)
	}
	return resp.Body.Close()
}

// outputs returns what the program wrote to the file for outputs. If the program removed the file, there are none. mistake says why
// the file cannot be used. err means that it was not read, and may be read later.
func (e *engine) outputs(ctx context.Context, id string) (list map[string]string, mistake, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	resp, err := e.open(ctx, http.MethodGet, "/containers/"+id+"/archive", url.Values{"path": {outputPath}}, nil, "")
	if hasStatus(err, http.StatusNotFound) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("$ROTA_OUTPUT cannot be read: %w", err)
	}
	defer resp.Body.Close()
	files := tar.NewReader(resp.Body)
	head, err := files.Next()
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("$ROTA_OUTPUT cannot be read: %w", err)
	case head.Typeflag != tar.TypeReg:
		return nil, errors.New("$ROTA_OUTPUT is not a regular file"), nil
	}
	text, err := io.ReadAll(io.LimitReader(files, job.MaxOutputs+1))
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("$ROTA_OUTPUT cannot be read: %w", err)
	case len(text) > job.MaxOutputs:
		return nil, fmt.Errorf("$ROTA_OUTPUT is larger than %d KiB", job.MaxOutputs>>10), nil
	}
	if list, err = job.ParseOutputs(string(text)); err != nil {
		return nil, fmt.Errorf("$ROTA_OUTPUT: %w", err), nil
	}
	return list, nil, nil
}

// outputsGrace bounds the calls for a container that has ended, after the attempt was lost.
const outputsGrace = 2 * time.Second

// withOutputs adds the outputs that the program wrote. Outputs that cannot be used fail an attempt that succeeded. It is not
// repeated, because its work is done. withOutputs waits for the engine until ctx ends. If the worker ends the attempt, the attempt
// is lost within outputsGrace, so that the next one can adopt the container.
func (e *Executor) withOutputs(
	ctx context.Context, req *executor.Request, o job.Outcome, id string, out io.Writer,
) job.Outcome {
	var list map[string]string
	var mistake, err error
	asking, release := untilLost(ctx, req)
	defer release()
	for noted := false; ; noted = true {
		err = e.patiently(asking, func() (err error) {
			list, mistake, err = e.engine.outputs(asking, id)
			return unsure(err)
		})
		if _, absent := errors.AsType[absentError](err); !absent || ctx.Err() != nil || o.State != job.Succeeded {
			break
		}
		if !noted {
			fmt.Fprintf(out, "\n[rota: the attempt waits: %v]\n", err)
		}
	}
	if err != nil && asking.Err() != nil && ctx.Err() == nil { // another worker may execute the run
		return job.Outcome{State: job.Lost, Retry: true, Reason: executor.ErrFenced.Error()}
	}
	if err = errors.Join(err, mistake); err != nil && o.State == job.Succeeded {
		if lost, ok := executor.Interrupted(ctx, req, e.now()); ok && lost.State == job.Lost && mistake == nil {
			return lost
		}
		o.State, o.Reason, o.Retry = job.Failed, err.Error(), false
	}
	o.Outputs = list
	return o
}

// untilLost returns a context that outlives ctx. It ends outputsGrace after ctx if the attempt is lost then, and soon after another
// worker may execute the run. The caller calls release.
func untilLost(ctx context.Context, req *executor.Request) (_ context.Context, release func()) {
	asking, cancel := context.WithCancel(context.WithoutCancel(ctx))
	calm := inHurry(req.Hurry, cancel)
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-ctx.Done():
			if o, _ := executor.Interrupted(ctx, req, time.Time{}); o.State == job.Lost && sleep(asking, outputsGrace) == nil {
				cancel()
			}
		case <-asking.Done():
		}
	})
	return asking, func() { cancel(); calm(); wg.Wait() }
}

// beating reports progress of the attempt until stop is called. stop waits for the last report.
func beating(req *executor.Request) (stop func()) {
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		for {
			req.Progress()
			select {
			case <-time.After(pollPause):
			case <-done:
				return
			}
		}
	})
	return func() { close(done); wg.Wait() }
}
