package container

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
)

// maxMessage is the largest message of a container's output that is read, in bytes. The engine cuts lines at 16 KiB.
const maxMessage = 1 << 20

// follower copies the output of one container, each message once, also when the engine restarts.
type follower struct {
	engine *engine
	id     string
	req    *executor.Request
	out    io.Writer

	last time.Time // of the latest message
	same int       // how many messages with the time last were copied
	err  error     // of the latest call; nil: it succeeded. Valid after run has returned
}

// run copies the output until ended is closed and the rest is copied, or until ctx ends.
func (f *follower) run(ctx context.Context, ended <-chan struct{}) {
	for {
		rest, wake := false, ended
		select {
		case <-ended:
			rest, wake = true, nil
		default:
		}
		err := unsure(f.copy(ctx, !rest)) // an error of the engine may pass
		if ctx.Err() == nil {
			f.err = err
		}
		switch {
		case rest && err == nil, ctx.Err() != nil:
			return
		case refused(err):
			fmt.Fprintf(f.out, "\n[rota: output cannot be read: %v]\n", err)
			return
		}
		select {
		case <-time.After(pollPause):
		case <-wake:
		case <-ctx.Done():
			return
		}
	}
}

// copy copies messages that are not copied yet. It returns nil at the end of the stream.
func (f *follower) copy(ctx context.Context, follow bool) error {
	resp, err := f.engine.logs(ctx, f.id, f.last, follow)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	from, skip := bufio.NewReader(resp.Body), f.same
	for {
		at, text, err := message(from)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case at.Equal(f.last) && skip > 0: // since includes the time itself
			skip--
			continue
		case at.Equal(f.last):
			f.same++
		default:
			f.last, f.same = at, 1
		}
		_, _ = f.out.Write(text)
		f.req.Progress()
	}
}

// message reads one message: a head with its length, and a text that begins with its time.
func message(from io.Reader) (at time.Time, text []byte, err error) {
	var head [8]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return at, nil, err
	}
	size := binary.BigEndian.Uint32(head[4:])
	if size > maxMessage {
		return at, nil, fmt.Errorf("message of %d bytes is too long", size)
	}
	text = make([]byte, size)
	if _, err := io.ReadFull(from, text); err != nil {
		return at, nil, errors.Join(io.ErrUnexpectedEOF, err)
	}
	stamp, text, found := bytes.Cut(text, []byte(" "))
	at, err = time.Parse(time.RFC3339Nano, string(stamp))
	if !found || err != nil {
		return at, nil, fmt.Errorf("message begins with %.40q, not with its time", stamp)
	}
	return at, text, nil
}
