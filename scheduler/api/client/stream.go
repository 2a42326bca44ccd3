package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strconv"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// Logs returns the output of an attempt of a run. Attempt 0 is the latest. With follow the output continues until the attempt
// ends. If Read returns an error other than io.EOF, the output is incomplete.
func (c *Client) Logs(ctx context.Context, run string, attempt int, follow bool) (io.ReadCloser, error) {
	path, err := runPath(run)
	if err != nil {
		return nil, err
	}
	query := parameters("attempt", number(attempt))
	if follow {
		query.Set("follow", "true")
	}
	res, err := c.do(ctx, call{method: http.MethodGet, path: path + "/logs", query: query, stream: true})
	if err != nil {
		return nil, err
	}
	return res.Body, nil
}

// Wait returns a run when it has ended. If no server answers, it continues to wait until ctx ends.
func (c *Client) Wait(ctx context.Context, run string) (api.RunView, error) {
	jobName, _, err := job.ParseRunName(run)
	if err != nil {
		return api.RunView{}, err
	}
	v, err := c.Run(ctx, run)
	if err != nil || v.State.Terminal() {
		return v, err
	}
	filter := EventFilter{After: v.Revision, Job: jobName, Kinds: []string{api.KindRun}}
	for e, err := range c.Events(ctx, filter) {
		if ctx.Err() != nil || err != nil && !errors.Is(err, api.ErrUnavailable) {
			return v, err
		}
		// Read the run's record after an error, and after each change of the run.
		if err == nil && e.Kind != api.KindReset && e.Name != run {
			continue
		}
		switch now, err := c.Run(ctx, run); {
		case err == nil && now.State.Terminal():
			return now, nil
		case err != nil && !errors.Is(err, api.ErrUnavailable):
			return v, err
		}
	}
	return v, context.Cause(ctx)
}

// EventFilter selects events. Its zero value selects all future events.
type EventFilter struct {
	After int64 // the stream continues after this revision; 0: from now on
	Job   string
	Kinds []string
}

// The times of an event stream.
const (
	silence = 45 * time.Second // three heartbeats of the server: if nothing arrives for this time, the connection is dead
	pause   = time.Second      // between two attempts to connect
)

// Events yields the changes of the store. If a stream breaks, Events continues it at any server that answers. If none answers,
// Events yields the error, and tries again if the caller continues. The sequence ends when ctx ends, or after an error other than
// api.ErrUnavailable.
//
// An event of kind api.KindReset means that events are missing. Then the caller must read all records again. After a break, the
// events of the last revision may be repeated.
func (c *Client) Events(ctx context.Context, f EventFilter) iter.Seq2[api.Event, error] {
	return func(yield func(api.Event, error) bool) {
		last := f.After
		for {
			err := c.readStream(ctx, f, &last, yield)
			switch {
			case errors.Is(err, errStopped):
				return
			case ctx.Err() != nil:
				yield(api.Event{}, context.Cause(ctx))
				return
			case errors.Is(err, errBroken):
			case !yield(api.Event{}, err) || !errors.Is(err, api.ErrUnavailable):
				return
			}
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
		}
	}
}

var (
	errStopped = errors.New("the caller stopped")
	errBroken  = errors.New("the stream broke")
)

// readStream reads the events of one connection. After each completely received revision, it sets last to that revision.
func (c *Client) readStream(ctx context.Context, f EventFilter, last *int64, yield func(api.Event, error) bool) error {
	query := parameters("job", f.Job)
	query["kind"] = f.Kinds
	header := map[string]string{"Accept": "text/event-stream"}
	if *last > 0 {
		header["Last-Event-ID"] = strconv.FormatInt(*last, 10)
	}
	res, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/events", query: query, header: header, stream: true})
	if err != nil {
		return err
	}
	defer res.Body.Close()
	watchdog := time.AfterFunc(silence, func() { _ = res.Body.Close() })
	defer watchdog.Stop()

	lines := bufio.NewReader(res.Body)
	var id int64
	var data []byte
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("%w: %w", errBroken, err)
		}
		watchdog.Reset(silence)
		name, value, _ := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case len(name) == 0 && len(value) == 0: // the end of an event
			if data != nil {
				var e api.Event
				if err := json.Unmarshal(data, &e); err != nil {
					return fmt.Errorf("read event: %w", err)
				}
				if !yield(e, nil) {
					return errStopped
				}
			}
			if id > 0 {
				*last = id
			}
			id, data = 0, nil
		case string(name) == "id":
			id, _ = strconv.ParseInt(string(value), 10, 64) // 0 if the value is not a revision
		case string(name) == "data":
			data = append(data, value...)
		}
	}
}
