package history

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// API has the methods of rota's client whose calls are recorded. Each client must use one replica and must not retry a request
// by itself. A retry must be a separate call, so that it is recorded.
type API interface {
	Submit(ctx context.Context, name string, r api.RunRequest) (api.RunView, bool, error)
	Run(ctx context.Context, name string) (api.RunView, error)
	Cancel(ctx context.Context, run, reason string) (api.RunView, error)
	PauseJob(ctx context.Context, name, reason string) (api.JobView, error)
	ResumeJob(ctx context.Context, name, reason string) (api.JobView, error)
	PutJob(ctx context.Context, name string, spec job.Spec, pre api.Precondition) (api.JobView, bool, error)
	DeleteJob(ctx context.Context, name string, pre api.Precondition) error
	RetryOnce(ctx context.Context, run, key string) (api.RunView, bool, error)
}

// Calls records the requests of clients and their answers. It is safe for concurrent use.
type Calls struct {
	mu      sync.Mutex
	calls   []Call // guarded by mu
	clients int    // guarded by mu
}

// Client returns a client that sends its requests through asks and records them. One goroutine may use it.
func (c *Calls) Client(asks API) *Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clients++
	return &Client{asks: asks, calls: c, number: c.clients - 1}
}

// All returns the calls that have an answer, and those for which the client no longer waits.
func (c *Calls) All() []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.calls)
}

func (c *Calls) add(call Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, call)
}

// Client sends requests and records them with their answers.
type Client struct {
	asks   API
	calls  *Calls
	number int
}

// Submit calls API.Submit and records the call.
func (c *Client) Submit(ctx context.Context, name string, r api.RunRequest) (v api.RunView, created bool, err error) {
	call := c.ask(CallSubmit, name)
	call.Key = r.Key
	v, created, err = c.asks.Submit(ctx, name, r)
	call.Created = created
	c.shown(call, v, err)
	return v, created, err
}

// Run calls API.Run and records the call.
func (c *Client) Run(ctx context.Context, name string) (api.RunView, error) {
	call := c.ask(CallRun, jobOf(name))
	call.Run = name
	v, err := c.asks.Run(ctx, name)
	c.shown(call, v, err)
	return v, err
}

// Cancel calls API.Cancel and records the call.
func (c *Client) Cancel(ctx context.Context, run, reason string) (api.RunView, error) {
	call := c.ask(CallCancel, jobOf(run))
	call.Run = run
	v, err := c.asks.Cancel(ctx, run, reason)
	c.shown(call, v, err)
	return v, err
}

// PauseJob calls API.PauseJob and records the call. The reason must be unique in the history.
func (c *Client) PauseJob(ctx context.Context, name, reason string) (api.JobView, error) {
	call := c.ask(CallPause, name)
	call.Pause = reason
	v, err := c.asks.PauseJob(ctx, name, reason)
	c.turned(call, v, err)
	return v, err
}

// ResumeJob calls API.ResumeJob and records the call.
func (c *Client) ResumeJob(ctx context.Context, name, reason string) (api.JobView, error) {
	call := c.ask(CallResume, name)
	v, err := c.asks.ResumeJob(ctx, name, reason)
	c.turned(call, v, err)
	return v, err
}

// PutJob calls API.PutJob and records the call. The description must be unique in the history, and only clients of the same
// Calls may change the job.
func (c *Client) PutJob(ctx context.Context, name string, spec job.Spec, pre api.Precondition) (v api.JobView, created bool, err error) {
	call := c.ask(CallPut, name)
	call.Text, call.If, call.New = spec.Description, pre.Revision, pre.Absent
	v, created, err = c.asks.PutJob(ctx, name, spec, pre)
	call.Created = created
	c.turned(call, v, err)
	return v, created, err
}

// DeleteJob calls API.DeleteJob and records the call.
func (c *Client) DeleteJob(ctx context.Context, name string, pre api.Precondition) error {
	call := c.ask(CallDelete, name)
	call.If = pre.Revision
	err := c.asks.DeleteJob(ctx, name, pre)
	c.turned(call, api.JobView{}, err)
	return err
}

// RetryOnce calls API.RetryOnce and records the call. key may be empty. A key must be unique to a run.
func (c *Client) RetryOnce(ctx context.Context, run, key string) (v api.RunView, created bool, err error) {
	call := c.ask(CallRetry, jobOf(run))
	call.Run, call.Key = run, key
	v, created, err = c.asks.RetryOnce(ctx, run, key)
	call.Created = created
	if call = answered(call, v, err); call.Answer == Done {
		call.Made = v.Ref
	}
	c.calls.add(call)
	return v, created, err
}

func (c *Client) ask(kind CallKind, name string) Call {
	return Call{Client: c.number, Kind: kind, Job: name, Asked: time.Now()}
}

func (c *Client) shown(call Call, v api.RunView, err error) {
	if call = answered(call, v, err); call.Answer == Done {
		call.Run = v.Ref
	}
	c.calls.add(call)
}

// answered returns call with its answer, which shows a run.
func answered(call Call, v api.RunView, err error) Call {
	call.Answered, call.Answer = time.Now(), answerOf(call.Kind, err)
	if call.Answer == Done {
		call.State, call.Rev, call.Cancel = v.State, v.Revision, byClient(v.Run.Cancel)
	}
	return call
}

func (c *Client) turned(call Call, v api.JobView, err error) {
	call.Answered, call.Answer = time.Now(), answerOf(call.Kind, err)
	if call.Answer == Done {
		call.Rev = v.Revision
		if v.Spec != nil {
			call.Shown = v.Spec.Description
		}
		if v.Paused != nil {
			call.Paused = v.Paused.Reason
		}
	}
	c.calls.add(call)
}

// byClient reports whether a client, and not a policy, canceled the run.
func byClient(c *job.Cancel) bool { return c != nil && c.By != "rota" }

func jobOf(run string) string {
	name, _, _ := strings.Cut(run, "/")
	return name
}

// answerOf classifies the error of a call.
func answerOf(kind CallKind, err error) Answer {
	var refused *client.Error
	var dial *net.OpError
	switch {
	case err == nil:
		return Done
	case errors.As(err, &refused):
		switch {
		case refused.Status == 404:
			return Absent
		case refused.Status == 409 && kind == CallCancel:
			return Ended
		case refused.Status == 409 && kind == CallRetry:
			return Early
		case refused.Status == 412:
			return Unmet
		case refused.Status >= 400 && refused.Status < 500:
			return Refused
		}
	case errors.As(err, &dial) && dial.Op == "dial":
		return Refused // the request was never sent
	}
	return Open
}
