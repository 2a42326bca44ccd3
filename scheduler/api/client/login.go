package client

import (
	"context"
	"net/http"

	"github.com/rota-scheduler/rota/scheduler/api"
)

// LoginCode returns a path that signs a browser in once, with the rights of this client.
func (c *Client) LoginCode(ctx context.Context) (api.LoginCode, error) {
	return result[api.LoginCode](ctx, c, call{method: http.MethodPost, path: "/v1/login-codes"})
}

// SignIn returns the principal that the server sees in this client, and how to sign in.
func (c *Client) SignIn(ctx context.Context) (api.SignInView, error) {
	return get[api.SignInView](ctx, c, "/v1/login", nil)
}
