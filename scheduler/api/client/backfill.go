package client

import (
	"context"
	"net/http"

	"github.com/rota-scheduler/rota/scheduler/api"
)

// StartBackfill runs past slots of a job. A repetition of a running backfill has no further effect.
func (c *Client) StartBackfill(ctx context.Context, name string, r api.BackfillRequest) (api.BackfillView, error) {
	v, _, err := fetch[api.BackfillView](ctx, c, call{
		method: http.MethodPost, path: jobPath(name) + "/backfill", body: r, repeatable: true,
	})
	return v, err
}

// StopBackfill stops the running backfill of a job.
func (c *Client) StopBackfill(ctx context.Context, name string) (api.BackfillView, error) {
	v, _, err := fetch[api.BackfillView](ctx, c, call{method: http.MethodDelete, path: jobPath(name) + "/backfill", repeatable: true})
	return v, err
}

// Backfill returns the latest backfill of a job.
func (c *Client) Backfill(ctx context.Context, name string) (api.BackfillView, error) {
	return get[api.BackfillView](ctx, c, jobPath(name)+"/backfill", nil)
}

// Backfills returns the latest backfill of each job.
func (c *Client) Backfills(ctx context.Context) ([]api.BackfillView, error) {
	l, err := get[api.BackfillList](ctx, c, "/v1/backfills", nil)
	return l.Backfills, err
}
