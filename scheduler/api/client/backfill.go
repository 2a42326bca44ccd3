package client

import (
	"context"
	"net/http"

	"github.com/rota-scheduler/rota/scheduler/api"
)

// StartBackfill runs past slots of a job. A repetition of a running backfill has no further effect.
func (c *Client) StartBackfill(ctx context.Context, name string, r api.BackfillRequest) (api.BackfillView, error) {
	return ask[api.BackfillView](ctx, c, call{path: jobPath(name) + "/backfill", body: r})
}

// StopBackfill stops the running backfill of a job.
func (c *Client) StopBackfill(ctx context.Context, name string) (api.BackfillView, error) {
	return result[api.BackfillView](ctx, c, call{method: http.MethodDelete, path: jobPath(name) + "/backfill", repeatable: true})
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
