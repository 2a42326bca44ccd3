package signin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/rota-scheduler/rota/cmd/rota/internal/credentials"
	"github.com/rota-scheduler/rota/config"
)

// ErrAgain means that the person must sign in again: the provider gives no further token.
var ErrAgain = errors.New("the sign-in has ended")

// Prompt asks the person to open an address and to enter a code there. complete is the address with the code; it may be empty.
type Prompt func(address, code, complete string)

// provider is a provider and what it says about itself.
type provider struct {
	*oidc.Provider

	config oauth2.Config
	scopes []string // that it supports
	revoke string   // address at which tokens are made invalid; may be empty
}

// discover asks a provider for its addresses. Its issuer must be https, or a loopback address.
func discover(ctx context.Context, issuer, clientID string) (*provider, error) {
	if u, err := url.Parse(issuer); err != nil || u.Scheme != "https" && (u.Scheme != "http" || !config.IsLoopback(issuer)) {
		return nil, fmt.Errorf("ask the OpenID provider %s: its address must begin with https://", issuer)
	}
	found, err := oidc.NewProvider(ctx, issuer)
	if err != nil {
		return nil, fmt.Errorf("ask the OpenID provider %s: %w", issuer, err)
	}
	var more struct {
		Scopes []string `json:"scopes_supported"`
		Revoke string   `json:"revocation_endpoint"`
	}
	if err := found.Claims(&more); err != nil {
		return nil, fmt.Errorf("ask the OpenID provider %s: %w", issuer, err)
	}
	endpoint := found.Endpoint()
	endpoint.AuthStyle = oauth2.AuthStyleInParams // without a secret. Otherwise each poll would be sent twice, and so be too early
	return &provider{found, oauth2.Config{ClientID: clientID, Endpoint: endpoint}, more.Scopes, more.Revoke}, nil
}

// Device signs a person in with the device flow (RFC 8628). It returns when the person has finished at the provider.
func Device(
	ctx context.Context, client *http.Client, issuer, clientID string, scopes []string, ask Prompt,
) (credentials.OpenID, error) {
	ctx = oidc.ClientContext(ctx, client)
	p, err := discover(ctx, issuer, clientID)
	if err != nil {
		return credentials.OpenID{}, err
	}
	if p.config.Endpoint.DeviceAuthURL == "" {
		return credentials.OpenID{}, fmt.Errorf("the OpenID provider %s has no device flow: use a token of rota", issuer)
	}
	p.config.Scopes = p.withRefresh(scopes)
	verifier := oauth2.GenerateVerifier()
	begun, err := p.config.DeviceAuth(ctx, oauth2.S256ChallengeOption(verifier))
	if err != nil {
		return credentials.OpenID{}, fmt.Errorf("begin the sign-in: %w", shortened(err))
	}
	ask(begun.VerificationURI, begun.UserCode, begun.VerificationURIComplete)
	given, err := p.config.DeviceAccessToken(ctx, begun, oauth2.VerifierOption(verifier))
	if err != nil {
		return credentials.OpenID{}, fmt.Errorf("end the sign-in: %w", shortened(err))
	}
	return p.entry(ctx, given, "")
}

// withRefresh adds the scope for refresh tokens, if the provider has it.
func (p *provider) withRefresh(scopes []string) []string {
	if !slices.Contains(p.scopes, oidc.ScopeOfflineAccess) || slices.Contains(scopes, oidc.ScopeOfflineAccess) {
		return scopes
	}
	return append(slices.Clone(scopes), oidc.ScopeOfflineAccess)
}

// Renew gets the next token for a person who has signed in. The error is ErrAgain if the provider refuses it.
func Renew(ctx context.Context, client *http.Client, e credentials.OpenID) (credentials.OpenID, error) {
	if e.Refresh == "" {
		return e, ErrAgain
	}
	ctx = oidc.ClientContext(ctx, client)
	p, err := discover(ctx, e.Issuer, e.ClientID)
	if err != nil {
		return e, err
	}
	given, err := p.config.TokenSource(ctx, &oauth2.Token{RefreshToken: e.Refresh}).Token()
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && final(refused.Response.StatusCode) {
		return e, fmt.Errorf("%w: %w", ErrAgain, shortened(err))
	}
	if err != nil {
		return e, fmt.Errorf("renew the sign-in: %w", shortened(err))
	}
	return p.entry(ctx, given, "")
}

// final reports whether a provider that answers with a status would refuse the same request later, too.
func final(status int) bool {
	return status < http.StatusInternalServerError && status != http.StatusTooManyRequests && status != http.StatusRequestTimeout
}

// entry checks the ID token in an answer of the provider and returns what is kept of the answer. nonce is that of the sign-in;
// empty if it has none.
func (p *provider) entry(ctx context.Context, given *oauth2.Token, nonce string) (credentials.OpenID, error) {
	text, _ := given.Extra("id_token").(string)
	if text == "" {
		return credentials.OpenID{}, errors.New("the OpenID provider gave no ID token: it must support the scope openid here")
	}
	token, err := p.Verifier(&oidc.Config{ClientID: p.config.ClientID}).Verify(ctx, text)
	if err != nil {
		return credentials.OpenID{}, fmt.Errorf("check the ID token: %w", err)
	}
	if nonce != "" && token.Nonce != nonce {
		return credentials.OpenID{}, errNonce
	}
	return credentials.OpenID{
		Issuer: token.Issuer, ClientID: p.config.ClientID, IDToken: text, Refresh: given.RefreshToken,
		Expires: token.Expiry.UTC().Truncate(time.Second),
	}, nil
}

// Revoke makes the refresh token of a person invalid, if the provider can do so.
func Revoke(ctx context.Context, client *http.Client, e credentials.OpenID) error {
	if e.Refresh == "" {
		return nil
	}
	ctx = oidc.ClientContext(ctx, client)
	p, err := discover(ctx, e.Issuer, e.ClientID)
	if err != nil || p.revoke == "" {
		return err
	}
	form := url.Values{"token": {e.Refresh}, "token_type_hint": {"refresh_token"}, "client_id": {e.ClientID}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.revoke, strings.NewReader(form.Encode()))
	if err != nil {
		return fmt.Errorf("revoke the sign-in: %w", err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("revoke the sign-in: %w", err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("revoke the sign-in: the OpenID provider answers %s", res.Status)
	}
	return nil
}

// shortened returns an error of the provider without the body of its answer.
func shortened(err error) error {
	refused, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok {
		return err
	}
	if refused.ErrorCode == "" {
		return fmt.Errorf("the OpenID provider answers %s", refused.Response.Status)
	}
	return refusal(refused.ErrorCode)
}

// refusal returns the error for a code of RFC 6749 or RFC 8628.
func refusal(code string) error {
	switch code {
	case "access_denied":
		return errors.New("the OpenID provider refused it: somebody denied it")
	case "expired_token":
		return errors.New("the OpenID provider refused it: the code has expired")
	}
	return fmt.Errorf("the OpenID provider refused it: %.100q", code)
}
