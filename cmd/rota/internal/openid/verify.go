package openid

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

// The largest sizes of what a token says.
const (
	maxName   = 255 // bytes of a principal or of a group
	maxGroups = 1000
)

// Verify returns the identity that a token of the provider proves at now. The token must be for this cluster.
func (p *Provider) Verify(ctx context.Context, text string, now time.Time) (auth.Identity, error) {
	token, err := p.verify(ctx, text, now)
	if err != nil {
		return auth.Identity{}, err
	}
	return p.identity(token)
}

// verify checks the issuer, the signature, the expiry and the audience of a token. It does not check the nonce.
func (p *Provider) verify(ctx context.Context, text string, now time.Time) (*oidc.IDToken, error) {
	if issuer, err := claimedIssuer(text); err != nil {
		return nil, err
	} else if issuer != p.set.Issuer { // a stranger's token must not make this process ask the provider for keys
		return nil, auth.ErrIssuer
	}
	set := &keySet{provider: p}
	verifier := oidc.NewVerifier(p.set.Issuer, set, &oidc.Config{
		SupportedSigningAlgs: algorithms, SkipClientIDCheck: true, Now: func() time.Time { return now },
	})
	token, err := verifier.Verify(ctx, text)
	if late, ok := errors.AsType[*oidc.TokenExpiredError](err); ok {
		return nil, fmt.Errorf("%w, at %s", auth.ErrExpired, late.Expiry.UTC().Format(time.RFC3339))
	}
	if err != nil {
		return nil, cmp.Or(set.err, err)
	}
	if !slices.ContainsFunc(token.Audience, p.serves) {
		return nil, auth.ErrAudience
	}
	return token, nil
}

// serves reports whether tokens for an audience are accepted.
func (p *Provider) serves(audience string) bool {
	own := audience == p.set.ClientID || audience == p.set.CLIClientID || slices.Contains(p.set.Audiences, audience)
	return own && audience != ""
}

// claimedIssuer returns the issuer that a token names, without any check. The error is auth.ErrToken.
func claimedIssuer(text string) (string, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return "", auth.ErrToken
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", auth.ErrToken
	}
	var claims struct {
		Issuer string `json:"iss"`
	}
	if json.Unmarshal(payload, &claims) != nil {
		return "", auth.ErrToken
	}
	return claims.Issuer, nil
}

// identity returns the identity that the claims of a token describe. The error is auth.ErrPrincipal.
func (p *Provider) identity(token *oidc.IDToken) (auth.Identity, error) {
	var claims map[string]any
	if err := token.Claims(&claims); err != nil {
		return auth.Identity{}, fmt.Errorf("%w: %w", auth.ErrPrincipal, err)
	}
	name, _ := claims[p.set.PrincipalClaim].(string)
	verified, said := claims["email_verified"]
	switch {
	case !isName(name), strings.ContainsFunc(name, isUnseen): // in records, it could look like another name
		return auth.Identity{}, fmt.Errorf("%w: the claim %s has no usable text", auth.ErrPrincipal, p.set.PrincipalClaim)
	case p.set.PrincipalClaim == "email" && said && verified != true && verified != "true":
		return auth.Identity{}, fmt.Errorf("%w: the provider has not verified the address", auth.ErrPrincipal)
	case strings.HasPrefix(name, auth.KindReplica+"/"), strings.HasPrefix(name, auth.KindWorker+"/"):
		return auth.Identity{}, fmt.Errorf("%w: the name is that of a process", auth.ErrPrincipal)
	}
	return auth.Identity{Principal: name, Groups: groups(claims[p.set.GroupsClaim]), Method: auth.ByOIDC}, nil
}

// groups returns the groups in a claim, which is a list of texts or one text.
func groups(claim any) (names []string) {
	list, ok := claim.([]any)
	if !ok {
		list = []any{claim}
	}
	for _, item := range list {
		if name, ok := item.(string); ok && isName(name) && len(names) < maxGroups {
			names = append(names, name)
		}
	}
	return names
}

// isName reports whether a text can stand for a principal or a group in records and logs.
func isName(text string) bool {
	return text != "" && len(text) <= maxName && strings.TrimSpace(text) == text && !strings.ContainsFunc(text, unicode.IsControl)
}

func isUnseen(r rune) bool { return !unicode.IsPrint(r) }
