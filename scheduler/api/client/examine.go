package client

import (
	"context"
	"net/http"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
)

// examineTimeout is longer than the server needs, so that its answer has priority.
const examineTimeout = api.ExamineTimeout + 10*time.Second

// Verify checks the invariants on the data in the store. It may take two minutes.
func (c *Client) Verify(ctx context.Context) (api.VerifyView, error) {
	return ask[api.VerifyView](ctx, c, call{path: "/v1/verify", timeout: examineTimeout})
}

// Doctor finds what will harm the cluster, as the replica that answers sees it. It may take two minutes.
func (c *Client) Doctor(ctx context.Context) (api.DoctorView, error) {
	return ask[api.DoctorView](ctx, c, call{path: "/v1/doctor", timeout: examineTimeout})
}

// Import translates schedules of another tool into a job file. It stores nothing.
func (c *Client) Import(ctx context.Context, r api.ImportRequest) (api.ImportView, error) {
	return ask[api.ImportView](ctx, c, call{path: "/v1/import", body: r})
}

// ask posts a request whose repetition has no further effect, so that any server may answer it.
func ask[V any](ctx context.Context, c *Client, q call) (V, error) {
	q.method, q.repeatable = http.MethodPost, true
	return result[V](ctx, c, q)
}
