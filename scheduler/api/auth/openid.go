package auth

import "errors"

// The reasons why a sign-in by an OpenID provider, or a token of one, is refused. The client of the API gets the same answer for
// all of them; logs distinguish them. ErrExpired and ErrToken are further reasons.
var (
	ErrIssuer    = errors.New("token is of another issuer")
	ErrAudience  = errors.New("token is for another client: its audience is not accepted here")
	ErrSignature = errors.New("token has no valid signature of the issuer")
	ErrPrincipal = errors.New("token names no principal")
	ErrNonce     = errors.New("token is for another sign-in: its nonce differs")
	ErrState     = errors.New("sign-in was not begun in this browser, or too long ago: its state differs")
	ErrRefused   = errors.New("the OpenID provider refused the sign-in")
	ErrProvider  = errors.New("the OpenID provider does not answer")
)

// ByOpenID returns the caller whose identity an OpenID provider has proven. The bindings of the file give it roles.
func (d *Directory) ByOpenID(who Identity) Caller {
	return Caller{who, GrantsOf(who, d.File.Bindings, nil)}
}
