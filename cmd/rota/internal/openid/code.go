package openid

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

// Begin begins the sign-in of a browser, which the provider sends back to the address redirect. It returns the secrets of the
// sign-in, and the address at the provider. The error is auth.ErrProvider.
func (p *Provider) Begin(ctx context.Context, redirect string) (api.SignIn, string, error) {
	known, err := p.usable(ctx)
	if err != nil {
		return api.SignIn{}, "", err
	}
	in := api.SignIn{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()}
	address := p.flow(known, redirect).AuthCodeURL(in.State, oidc.Nonce(in.Nonce), oauth2.S256ChallengeOption(in.Verifier))
	return in, address, nil
}

// End returns the identity that the provider has proven at now. code is the code that the browser brought back from the provider.
func (p *Provider) End(ctx context.Context, in api.SignIn, redirect, code string, now time.Time) (auth.Identity, error) {
	known, err := p.usable(ctx)
	if err != nil {
		return auth.Identity{}, err
	}
	flow := p.flow(known, redirect)
	if p.set.ClientSecretFile != "" {
		secret, err := os.ReadFile(p.set.ClientSecretFile)
		if err != nil {
			return auth.Identity{}, fmt.Errorf("read auth.oidc.client_secret_file: %w", err)
		}
		flow.ClientSecret = strings.TrimSpace(string(secret))
	}
	given, err := flow.Exchange(oidc.ClientContext(ctx, p.client), code, oauth2.VerifierOption(in.Verifier))
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response.StatusCode < 500 {
		return auth.Identity{}, fmt.Errorf("%w: %.200q", auth.ErrRefused, refused.ErrorCode)
	}
	if err != nil {
		return auth.Identity{}, fmt.Errorf("%w: %w", auth.ErrProvider, err)
	}
	text, _ := given.Extra("id_token").(string)
	token, err := p.verify(ctx, text, now)
	switch {
	case err != nil:
		return auth.Identity{}, err
	case subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(in.Nonce)) != 1:
		return auth.Identity{}, auth.ErrNonce
	}
	return p.identity(token)
}

// Client returns what `rota login` needs to know.
func (p *Provider) Client() api.OpenIDClient {
	return api.OpenIDClient{Issuer: p.set.Issuer, ClientID: p.set.CLIClientID, Scopes: p.set.Scopes}
}

func (p *Provider) flow(known *metadata, redirect string) *oauth2.Config {
	return &oauth2.Config{ClientID: p.set.ClientID, Endpoint: known.endpoint, RedirectURL: redirect, Scopes: p.set.Scopes}
}
