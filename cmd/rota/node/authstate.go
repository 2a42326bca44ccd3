package node

import (
	"context"

	"github.com/rota-scheduler/rota/cmd/rota/internal/authn"
	"github.com/rota-scheduler/rota/cmd/rota/internal/backend"
	"github.com/rota-scheduler/rota/cmd/rota/internal/failure"
	"github.com/rota-scheduler/rota/cmd/rota/internal/openid"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/store"
)

// openAuth adds the authentication of requests to cfg, unless it is off.
func (n *Node) openAuth(ctx context.Context, cfg *api.Config, stops *closers) (err error) {
	if mode := n.set.Auth.Mode; mode != config.AuthOff && mode != "" {
		if n.authn, err = authn.Open(n.set.Auth.File, n.now, n.log.Named("auth")); err != nil {
			return failure.Config(err)
		}
		stops.background(ctx)("follow auth.file", n.authn.Run)
		cfg.Auth, cfg.Sessions, cfg.Observe = n.authn, n.authn, mode == config.AuthObserve
	}
	if n.authn == nil || n.set.Auth.OIDC.Issuer == "" {
		return nil
	}
	if n.provider, err = openid.Open(n.set.Auth.OIDC, n.now, n.log.Named("auth")); err != nil {
		return failure.Config(err)
	}
	cfg.OpenID = n.authn.UseProvider(n.provider)
	stops.background(ctx)("follow the OpenID provider", n.provider.Run) // nothing waits for it
	return nil
}

// providerTrouble returns why the OpenID provider cannot be used; nil if it can, or if there is none.
func (n *Node) providerTrouble() *backend.Trouble {
	if n.provider == nil {
		return nil
	}
	return (*backend.Trouble)(n.provider.Trouble())
}

// followTokens makes the tokens and the sessions in the store count.
func (n *Node) followTokens(ctx context.Context, stops *closers) {
	n.tokens = store.NewTokens(n.store)
	stops.background(ctx)("follow the tokens", n.tokens.Follow)
	if n.authn != nil {
		n.authn.UseStore(n.store)
		n.authn.UseTokens(n.tokens)
	}
}

// authMistake returns why the auth.file on the disk is not in force; nil if it is, or if authentication is off.
func (n *Node) authMistake() *backend.Trouble {
	if n.authn == nil {
		return nil
	}
	return (*backend.Trouble)(n.authn.Mistake())
}

// storedTokens returns the tokens in the store; none until there is a store.
func (n *Node) storedTokens() []auth.Token {
	if !n.backend.Ready() {
		return nil
	}
	return n.tokens.All()
}
