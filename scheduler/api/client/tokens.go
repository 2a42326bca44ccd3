package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/rota-scheduler/rota/scheduler/api"
)

// Tokens returns the tokens in the store.
func (c *Client) Tokens(ctx context.Context) ([]api.TokenView, error) {
	l, err := get[api.TokenList](ctx, c, "/v1/tokens", nil)
	return l.Tokens, err
}

// CreateToken stores a token. The request has the hash of the secret, and not the secret.
func (c *Client) CreateToken(ctx context.Context, r api.CreateTokenRequest) (api.TokenView, error) {
	v, _, err := fetch[api.TokenView](ctx, c, call{method: http.MethodPost, path: "/v1/tokens", body: r})
	return v, err
}

// RotateToken stores a second token with the rights of the token id.
func (c *Client) RotateToken(ctx context.Context, id string, r api.RotateTokenRequest) (api.TokenView, error) {
	v, _, err := fetch[api.TokenView](ctx, c, call{method: http.MethodPost, path: tokenPath(id) + "/rotate", body: r})
	return v, err
}

// RevokeToken removes a token from the store.
func (c *Client) RevokeToken(ctx context.Context, id string) error {
	_, _, err := fetch[struct{}](ctx, c, call{method: http.MethodDelete, path: tokenPath(id)})
	return err
}

func tokenPath(id string) string { return "/v1/tokens/" + url.PathEscape(id) }
