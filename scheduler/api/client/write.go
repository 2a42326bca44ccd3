package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// PutJob creates or replaces a job and reports whether it created it.
func (c *Client) PutJob(
	ctx context.Context, name string, spec job.Spec, pre api.Precondition,
) (v api.JobView, created bool, err error) {
	return put[api.JobView](ctx, c, jobPath(name), spec, pre)
}

// DeleteJob deletes a job. Its runs remain.
func (c *Client) DeleteJob(ctx context.Context, name string, pre api.Precondition) error {
	return c.remove(ctx, jobPath(name), pre)
}

// PutLimit creates or replaces a limit.
func (c *Client) PutLimit(ctx context.Context, name string, spec job.LimitSpec, pre api.Precondition) (api.LimitView, error) {
	v, _, err := put[api.LimitView](ctx, c, limitPath(name), spec, pre)
	return v, err
}

// DeleteLimit deletes a limit. The server refuses this if a job names the limit.
func (c *Client) DeleteLimit(ctx context.Context, name string, pre api.Precondition) error {
	return c.remove(ctx, limitPath(name), pre)
}

func limitPath(name string) string { return "/v1/limits/" + url.PathEscape(name) }

// put creates or replaces a definition and reports whether it created it.
func put[V any](ctx context.Context, c *Client, path string, spec any, pre api.Precondition) (v V, created bool, err error) {
	v, status, err := fetch[V](ctx, c, call{
		method: http.MethodPut, path: path, header: condition(pre), body: spec, repeatable: pre.Any(),
	})
	return v, status == http.StatusCreated, err
}

func (c *Client) remove(ctx context.Context, path string, pre api.Precondition) error {
	_, _, err := fetch[struct{}](ctx, c, call{method: http.MethodDelete, path: path, header: condition(pre)})
	return err
}

func condition(pre api.Precondition) map[string]string {
	switch {
	case pre.Absent:
		return map[string]string{"If-None-Match": "*"}
	case pre.Revision != 0:
		return map[string]string{"If-Match": strconv.Quote(strconv.FormatInt(pre.Revision, 10))}
	case pre.Exists:
		return map[string]string{"If-Match": "*"}
	}
	return nil
}

// Submit submits a run of a job, for now or later, and reports whether it created a run. If an earlier submission had the same
// key, Submit returns the run of that submission.
func (c *Client) Submit(ctx context.Context, name string, r api.RunRequest) (v api.RunView, created bool, err error) {
	return c.submit(ctx, jobPath(name)+"/runs", r, r.Key)
}

// SubmitCommand runs a command without a job.
func (c *Client) SubmitCommand(ctx context.Context, r api.AdHocRequest) (v api.RunView, created bool, err error) {
	return c.submit(ctx, "/v1/runs", r, r.Key)
}

func (c *Client) submit(ctx context.Context, path string, body any, key string) (api.RunView, bool, error) {
	var header map[string]string
	if key != "" {
		header = map[string]string{"Idempotency-Key": strconv.Quote(key)}
	}
	v, status, err := fetch[api.RunView](ctx, c, call{
		method: http.MethodPost, path: path, header: header, body: body, repeatable: key != "",
	})
	return v, status == http.StatusCreated, err
}

// PauseJob stops the dispatching of a job until ResumeJob.
func (c *Client) PauseJob(ctx context.Context, name, reason string) (api.JobView, error) {
	return reasoned[api.JobView](ctx, c, jobPath(name)+"/pause", reason)
}

// ResumeJob resumes a paused job.
func (c *Client) ResumeJob(ctx context.Context, name, reason string) (api.JobView, error) {
	return reasoned[api.JobView](ctx, c, jobPath(name)+"/resume", reason)
}

// PauseAll stops all dispatching until ResumeAll.
func (c *Client) PauseAll(ctx context.Context, reason string) (api.GateView, error) {
	return reasoned[api.GateView](ctx, c, "/v1/pause", reason)
}

// ResumeAll resumes dispatching.
func (c *Client) ResumeAll(ctx context.Context, reason string) (api.GateView, error) {
	return reasoned[api.GateView](ctx, c, "/v1/resume", reason)
}

// reasoned makes a change that takes a reason.
func reasoned[V any](ctx context.Context, c *Client, path, reason string) (V, error) {
	return ask[V](ctx, c, call{path: path, body: api.ReasonRequest{Reason: reason}})
}

// AcceptRestored accepts a store that was restored from a backup, for every process that waits. The server that answers must be
// one that waits.
func (c *Client) AcceptRestored(ctx context.Context) (api.RestoredView, error) {
	return result[api.RestoredView](ctx, c, call{method: http.MethodPost, path: "/v1/accept-restored-store"})
}

// Cancel requests the end of a run.
func (c *Client) Cancel(ctx context.Context, run, reason string) (api.RunView, error) {
	path, err := runPath(run)
	if err != nil {
		return api.RunView{}, err
	}
	return result[api.RunView](ctx, c, call{method: http.MethodPost, path: path + "/cancel", body: api.ReasonRequest{Reason: reason}})
}

// Approve approves a run that waits for a person.
func (c *Client) Approve(ctx context.Context, run, reason string) (api.RunView, error) {
	return c.runAction(ctx, run, "/approve", api.ReasonRequest{Reason: reason})
}

// Reject rejects a run that waits for a person.
func (c *Client) Reject(ctx context.Context, run, reason string) (api.RunView, error) {
	return c.runAction(ctx, run, "/reject", api.RejectRequest{Reason: reason})
}

func (c *Client) runAction(ctx context.Context, run, action string, body any) (api.RunView, error) {
	path, err := runPath(run)
	if err != nil {
		return api.RunView{}, err
	}
	return ask[api.RunView](ctx, c, call{path: path + action, body: body})
}

// Retry creates a run that repeats an ended run.
func (c *Client) Retry(ctx context.Context, run string) (api.RunView, error) {
	v, _, err := c.RetryOnce(ctx, run, "")
	return v, err
}

// RetryOnce is Retry with an idempotency key, and reports whether it created a run. If an earlier repetition had the same key, it
// returns that run.
func (c *Client) RetryOnce(ctx context.Context, run, key string) (v api.RunView, created bool, err error) {
	path, err := runPath(run)
	if err != nil {
		return api.RunView{}, false, err
	}
	return c.submit(ctx, path+"/retry", nil, key)
}

// Resume repeats an ended run, and the steps behind it that did not run because of it.
func (c *Client) Resume(ctx context.Context, run string) (api.RunView, error) {
	path, err := runPath(run)
	if err != nil {
		return api.RunView{}, err
	}
	return result[api.RunView](ctx, c, call{method: http.MethodPost, path: path + "/retry", query: parameters("resume", "true")})
}
