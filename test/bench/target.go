package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor/handler"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// target receives the requests of HTTP jobs in this process, and answers at once.
type target struct {
	server http.Server
	url    string
	served chan error
}

// newTarget starts a target that calls execute for each request.
func newTarget(ctx context.Context, execute handler.Func) (*target, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	t := &target{url: "http://" + l.Addr().String(), served: make(chan error, 1)}
	t.server = http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			slot, err := time.Parse(time.RFC3339Nano, r.Header.Get("Rota-Slot"))
			if err == nil {
				err = execute(r.Context(), handler.Task{Job: r.Header.Get("Rota-Job"), Slot: slot})
			}
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
			}
		}),
	}
	go func() { t.served <- t.server.Serve(l) }()
	return t, nil
}

// request sends a request as that of a run with this slot.
func (t *target) request(ctx context.Context, c *http.Client, slot time.Time) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Rota-Slot", slot.Format(time.RFC3339Nano))
	resp, err := c.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// close ends the target.
func (t *target) close() error {
	err := t.server.Close()
	if served := <-t.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// calls makes a job call the target in place of the handler.
func (t *target) calls(j job.Job) job.Job {
	spec := *j.Spec
	spec.Handler, spec.HTTP = "", &job.HTTP{URL: t.url, Method: http.MethodPost}
	j.Spec = &spec
	return j
}
