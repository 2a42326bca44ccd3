package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/rota-scheduler/rota/scheduler/job"
)

type logsInput struct {
	Job     string `path:"job"`
	Slot    string `path:"slot"`
	Attempt int    `query:"attempt" minimum:"0" doc:"Number of the attempt; 0 is the latest"`
	Follow  bool   `query:"follow" doc:"Continue until the attempt ends"`
}

// readLogs streams the output of an attempt. If it cannot complete the stream, it breaks the connection. So the client knows that
// the output is incomplete.
func (s *Server) readLogs(request context.Context, in *logsInput) (*huma.StreamResponse, error) {
	ctx, opened, end := s.streamContext(request)
	out, err := s.back.Logs.Logs(ctx, in.Job, in.Slot, in.Attempt, in.Follow)
	opened()
	if err != nil {
		err = s.logsNotFound(ctx, in, cause(ctx, err))
		end()
		return nil, s.answer(request, "read-logs", err)
	}
	return &huma.StreamResponse{Body: func(response huma.Context) {
		defer end()
		if err := s.copyLogs(ctx, response, out); err != nil {
			s.log.Debug("log stream broken off", "job", in.Job, "run", in.Slot, "err", cause(ctx, err))
			panic(http.ErrAbortHandler) // net/http closes the connection without a proper end
		}
	}}, nil
}

func (s *Server) copyLogs(ctx context.Context, response huma.Context, out io.ReadCloser) error {
	closeOut := sync.OnceValue(out.Close)
	defer func() { _ = closeOut() }()
	defer context.AfterFunc(ctx, func() { _ = closeOut() })() // ends a Read that waits for more output

	st, err := s.startStream(response, "text/plain; charset=utf-8")
	switch {
	case errors.Is(err, errNoBody):
		return nil
	case err != nil:
		return err
	}
	buf := make([]byte, 32<<10)
	for {
		n, err := out.Read(buf)
		if n > 0 {
			if err := st.send(buf[:n]); err != nil {
				return err
			}
		}
		switch {
		case ctx.Err() != nil: // Close may make Read return io.EOF
			return context.Cause(ctx)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

func (s *Server) logsNotFound(ctx context.Context, in *logsInput, err error) error {
	if !errors.Is(err, job.ErrNotFound) || s.back.Replica == nil {
		return err
	}
	if _, runErr := s.back.Replica.Run(ctx, in.Job, in.Slot); errors.Is(runErr, job.ErrNotFound) {
		return s.runNotFound(ctx, in.Job, in.Slot, runErr)
	}
	return err
}
