package kubernetes

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/url"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/kubeapi"
)

// logPause is how long a follower waits before it opens a log again.
const logPause = 500 * time.Millisecond

// follower copies the log of a container to the output of the attempt. When the API server breaks the stream, it continues behind
// the last line.
type follower struct {
	api  API
	path string // of the pod
	out  io.Writer
	req  *executor.Request

	last time.Time // the latest time of a line that was copied
	same int       // how many lines with the time last were copied
}

// follow copies the log until ended is closed and the log has no more lines, or until ctx ends. It calls wake whenever the stream
// ends, because the container may have ended.
func (f *follower) follow(ctx context.Context, ended <-chan struct{}, wake func()) {
	for ctx.Err() == nil {
		over := isClosed(ended) // before the log is read: after the end there are no more lines
		err := f.copy(ctx)
		if _, definite := errors.AsType[*kubeapi.StatusError](err); over && (err == nil || definite) {
			return
		}
		wake()
		if over {
			sleep(ctx, logPause)
			continue
		}
		select {
		case <-time.After(logPause):
		case <-ended:
		case <-ctx.Done():
		}
	}
}

// copy reads the log once. The error is nil if the server has ended the stream in good order.
func (f *follower) copy(ctx context.Context) error {
	query := url.Values{"container": {containerName}, "follow": {"true"}, "timestamps": {"true"}}
	if !f.last.IsZero() {
		query.Set("sinceTime", f.last.UTC().Format(time.RFC3339)) // in whole seconds
	}
	stream, err := f.api.Stream(ctx, f.path+"/log?"+query.Encode())
	if err != nil {
		return err
	}
	defer stream.Close()
	r := bufio.NewReaderSize(f.req.ReportReads(stream), 32<<10)
	known := resumption{f.last, f.same}
	for {
		if err := f.line(r, &known); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// resumption says which lines at the beginning of a stream were copied before. Several lines may have the same time.
type resumption struct {
	until time.Time // earlier lines were copied
	same  int       // so many lines with this time were copied
}

// has reports whether the line with a time was copied before.
func (k *resumption) has(at time.Time) bool {
	if at.Equal(k.until) && k.same > 0 {
		k.same--
		return true
	}
	return at.Before(k.until)
}

// line copies one line, which begins with its time, unless it was copied before.
func (f *follower) line(r *bufio.Reader, known *resumption) error {
	stamp, err := r.ReadString(' ')
	if err != nil {
		return err
	}
	skip := false
	if at, err := time.Parse(time.RFC3339Nano, stamp[:len(stamp)-1]); err == nil {
		switch skip = known.has(at); {
		case skip:
		case at.Equal(f.last):
			f.same++
		case at.After(f.last):
			f.last, f.same = at, 1
		}
	} else if _, err := io.WriteString(f.out, stamp); err != nil { // a message of the kubelet
		return err
	}
	for {
		part, err := r.ReadSlice('\n')
		if !skip {
			_, _ = f.out.Write(part) // a Redactor, which takes all
		}
		if err == nil || !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
