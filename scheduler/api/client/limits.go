package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// Limits returns all cluster-wide limits in the order of their names.
func (c *Client) Limits(ctx context.Context) ([]api.LimitView, error) {
	l, err := get[api.LimitList](ctx, c, "/v1/limits", nil)
	return l.Limits, err
}

// PutLimit creates or replaces a limit.
func (c *Client) PutLimit(ctx context.Context, name string, spec job.LimitSpec, pre api.Precondition) (api.LimitView, error) {
	v, _, err := fetch[api.LimitView](ctx, c, call{
		method: http.MethodPut, path: limitPath(name), header: condition(pre), body: spec, repeatable: pre.Any(),
	})
	return v, err
}

// DeleteLimit deletes a limit that no job names.
func (c *Client) DeleteLimit(ctx context.Context, name string, pre api.Precondition) error {
	_, _, err := fetch[struct{}](ctx, c, call{method: http.MethodDelete, path: limitPath(name), header: condition(pre)})
	return err
}

func limitPath(name string) string { return "/v1/limits/" + url.PathEscape(name) }
