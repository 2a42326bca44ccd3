package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/api"
)

// ParseToken returns the token in a text: its first line. What `rota token create` prints has more lines, which say whose it is.
func ParseToken(text string) (string, error) {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	token := strings.TrimSpace(line)
	switch {
	case token == "":
		return "", errors.New("there is no token in it")
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", errors.New("its first line is not a token")
	}
	return token, nil
}

// Tokens returns the tokens in the store.
func (c *Client) Tokens(ctx context.Context) ([]api.TokenView, error) {
	l, err := get[api.TokenList](ctx, c, "/v1/tokens", nil)
	return l.Tokens, err
}

// CreateToken stores a token. The request has the hash of the secret, and not the secret.
func (c *Client) CreateToken(ctx context.Context, r api.CreateTokenRequest) (api.TokenView, error) {
	return result[api.TokenView](ctx, c, call{method: http.MethodPost, path: "/v1/tokens", body: r})
}

// RotateToken stores a second token with the rights of the token id.
func (c *Client) RotateToken(ctx context.Context, id string, r api.RotateTokenRequest) (api.TokenView, error) {
	return result[api.TokenView](ctx, c, call{method: http.MethodPost, path: tokenPath(id) + "/rotate", body: r})
}

// RevokeToken removes a token from the store.
func (c *Client) RevokeToken(ctx context.Context, id string) error {
	_, _, err := fetch[struct{}](ctx, c, call{method: http.MethodDelete, path: tokenPath(id)})
	return err
}

func tokenPath(id string) string { return "/v1/tokens/" + url.PathEscape(id) }
