package api

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// reconnect is how long a browser waits before it opens a broken stream again, in milliseconds.
const reconnect = 1000

type eventsInput struct {
	LastEventID string   `header:"Last-Event-ID" doc:"Store revision to continue after: the id of the last event received"`
	After       string   `query:"after" doc:"The same for a first connection, for example the revision in /v1/cluster"`
	Job         string   `query:"job" doc:"Only events of this job and its runs"`
	Kind        []string `query:"kind,explode" doc:"Only events of this kind; may be given several times"`
}

// wants reports whether the client requested an event and may see it. sees is nil for a client that may see all jobs. audit
// reports whether the client may see an audit record.
func (in *eventsInput) wants(e *Event, sees func(job string) bool, audit func(a *job.Audit) bool) bool {
	if len(in.Kind) > 0 && !slices.Contains(in.Kind, e.Kind) {
		return false
	}
	switch e.Kind {
	case KindAudit:
		var a job.Audit
		return !e.Deleted && json.Unmarshal(e.Value, &a) == nil && (in.Job == "" || a.Job() == in.Job) && audit(&a)
	case KindJob, KindRun, KindEvent:
		owner, _, _ := strings.Cut(e.Name, "/")
		return (in.Job == "" || owner == in.Job) && (sees == nil || sees(owner))
	}
	return in.Job == ""
}

// after returns the revision after which the stream continues; 0 to start now.
func (in *eventsInput) after() (int64, error) {
	id, location := in.LastEventID, "header.Last-Event-ID"
	if id == "" {
		id, location = in.After, "query.after"
	}
	if id == "" {
		return 0, nil
	}
	rev, err := strconv.ParseInt(id, 10, 64)
	if err != nil || rev < 0 {
		return 0, invalid(location, "%q is not a store revision", id)
	}
	return rev, nil
}

func (s *Server) watchEvents(request context.Context, in *eventsInput) (*huma.StreamResponse, error) {
	after, err := in.after()
	if err != nil {
		return nil, err
	}
	for _, kind := range in.Kind {
		if !slices.Contains(Kinds(), kind) {
			return nil, invalid("query.kind", "%q is not a kind of event: use %s", kind, joined(Kinds()))
		}
	}
	ctx, opened, end := s.streamContext(request)
	from, changes, err := s.back.Events.Watch(ctx, after)
	opened()
	if err != nil {
		err = cause(ctx, err)
		end()
		return nil, s.answer(request, "watch-events", err)
	}
	return &huma.StreamResponse{Body: func(response huma.Context) {
		defer end()
		st, err := s.startStream(response, "text/event-stream")
		if err == nil {
			err = s.sendEvents(ctx, st, in, after, from, changes)
		}
		// For any cause, the client connects again with the last id that it received.
		s.log.Debug("event stream ended", "by", caller(request), "err", cause(ctx, err))
	}}, nil
}

// sendEvents sends events until the client, the server or the source ends. Only the last event of a revision has an id. So if a
// client is disconnected within a revision, it gets the whole revision again.
func (s *Server) sendEvents(ctx context.Context, st *stream, in *eventsInput, after, from int64, changes <-chan []Event) error {
	first := fmt.Appendf(nil, "retry: %d\nid: %d\n\n", reconnect, from)
	if after != 0 && from != after {
		first = frame(fmt.Appendf(nil, "retry: %d\n", reconnect), &Event{Revision: from, Kind: KindReset}, true)
	}
	if err := st.send(first); err != nil {
		return err
	}
	heartbeat := time.NewTicker(s.cfg.Heartbeat)
	defer heartbeat.Stop()
	reached, sees := from, s.sees(ctx)
	for {
		var out []byte
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-heartbeat.C:
			// The id is necessary: a client with a filter may get no event for long, and its last revision could be compacted.
			out = fmt.Appendf(nil, ": alive\nid: %d\n\n", reached)
		case batch, ok := <-changes:
			if !ok {
				return errBehind
			}
			batch = slices.DeleteFunc(slices.Clone(batch), func(e Event) bool {
				reached = e.Revision
				return !in.wants(&e, sees, func(a *job.Audit) bool { return s.seesAudit(ctx, a) })
			})
			for i := range batch {
				s.maskEvent(ctx, &batch[i])
				out = frame(out, &batch[i], i == len(batch)-1)
			}
			if len(out) == 0 {
				continue
			}
		}
		if err := st.send(out); err != nil {
			return err
		}
	}
}

// frame appends e to b in the form of one server-sent event. It copies Value, which is JSON on one line: to encode it again would
// take most of the time of a stream.
func frame(b []byte, e *Event, last bool) []byte {
	bare := *e
	bare.Value = nil
	data, _ := json.Marshal(&bare) // it has only texts and numbers
	if last {
		b = fmt.Appendf(b, "id: %d\n", e.Revision)
	}
	b = fmt.Appendf(b, "event: %s\ndata: ", e.Kind)
	if len(e.Value) > 0 {
		b = append(append(b, data[:len(data)-1]...), `,"value":`...)
		b = append(append(b, e.Value...), '}')
	} else {
		b = append(b, data...)
	}
	return append(b, "\n\n"...)
}
