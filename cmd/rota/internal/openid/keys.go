package openid

import (
	"context"
	"fmt"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

// algorithms are the signatures that are accepted. Each needs a private key, which only the provider has.
var algorithms = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
}

// keySet checks the signature of one token by the keys of a provider.
type keySet struct {
	provider *Provider
	err      error // why VerifySignature failed; nil: it was not called, or it succeeded
}

// VerifySignature implements oidc.KeySet. It returns the payload of the token.
func (s *keySet) VerifySignature(ctx context.Context, text string) (payload []byte, err error) {
	payload, s.err = s.provider.payload(ctx, text)
	return payload, s.err
}

// payload returns the payload of a token that the provider has signed. The error is auth.ErrSignature or auth.ErrProvider.
func (p *Provider) payload(ctx context.Context, text string) ([]byte, error) {
	accepted := make([]jose.SignatureAlgorithm, len(algorithms))
	for i, name := range algorithms {
		accepted[i] = jose.SignatureAlgorithm(name)
	}
	token, err := jose.ParseSignedCompact(text, accepted)
	if err != nil || len(token.Signatures) != 1 {
		return nil, auth.ErrToken
	}
	id := token.Signatures[0].Header.KeyID
	known, err := p.usable(ctx)
	if err != nil {
		return nil, err
	}
	payload, found := known.check(token, id)
	if payload == nil {
		p.read(ctx, onDemand) // the provider may have another key now
		if known, err = p.usable(ctx); err != nil {
			return nil, err
		}
		payload, found = known.check(token, id)
	}
	switch {
	case payload != nil:
		return payload, nil
	case !found:
		return nil, fmt.Errorf("%w: the issuer has no key %.40q", auth.ErrSignature, id)
	}
	return nil, auth.ErrSignature
}

// check returns the payload of a token, nil if no key fits its signature. found reports whether there is a key with the id. An
// empty id stands for each key.
func (m *metadata) check(token *jose.JSONWebSignature, id string) (payload []byte, found bool) {
	for i := range m.keys {
		if id != "" && m.keys[i].KeyID != id {
			continue
		}
		found = true
		if payload, err := token.Verify(&m.keys[i]); err == nil {
			return payload, true
		}
	}
	return nil, found
}
