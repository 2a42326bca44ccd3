package authn

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

// Provider is an OpenID provider.
type Provider interface {
	// Verify returns the identity that a token of the provider proves at now.
	Verify(ctx context.Context, text string, now time.Time) (auth.Identity, error)
	// Begin begins the sign-in of a browser.
	Begin(ctx context.Context, redirect string) (api.SignIn, string, error)
	// End returns the identity that the provider has proven to the browser at now.
	End(ctx context.Context, in api.SignIn, redirect, code string, now time.Time) (auth.Identity, error)
	Client() api.OpenIDClient
}

// codesPerSecond bounds the codes that this process brings to the provider. So nobody can load the provider with invented ones.
const codesPerSecond = 50

// openID implements api.OpenID for an Authenticator.
type openID struct {
	Provider

	of *Authenticator
}

// UseProvider makes tokens of an OpenID provider prove their principals. Call it before the first request.
func (a *Authenticator) UseProvider(p Provider) api.OpenID {
	a.provider = p
	a.known.Store(a.directory(a.known.Load().File))
	return openID{p, a}
}

// End implements api.OpenID.
func (o openID) End(ctx context.Context, in api.SignIn, redirect, code string) (auth.Caller, error) {
	if !o.of.codes.AllowN(o.of.now(), 1) {
		return auth.Caller{}, fmt.Errorf("%w: too many people sign in", auth.ErrProvider)
	}
	who, err := o.Provider.End(ctx, in, redirect, code, o.of.corrected())
	if err != nil {
		return auth.Caller{}, err
	}
	return o.of.known.Load().ByOpenID(who), nil
}

// byProvider returns the caller that a token of the OpenID provider proves.
func (a *Authenticator) byProvider(ctx context.Context, text string) (auth.Caller, error) {
	who, err := a.provider.Verify(ctx, text, a.corrected())
	if err != nil {
		return auth.Caller{}, err
	}
	return a.known.Load().ByOpenID(who), nil
}

// isJWT reports whether a text has the form of a token of an OpenID provider. No token of rota has it.
func isJWT(text string) bool { return strings.Count(text, ".") == 2 }
