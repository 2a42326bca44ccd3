package auth

import (
	"cmp"
	"crypto/x509"
	"errors"
	"time"
)

// The reasons why an identity cannot be proven. The client gets the same answer for all of them; logs and metrics distinguish
// them.
var (
	ErrUnknown     = errors.New("token is unknown or was revoked")
	ErrExpired     = errors.New("token has expired")
	ErrStale       = errors.New("tokens of the store are unknown, because the store has not answered for long")
	ErrCertificate = errors.New("certificate names no principal of this cluster")
	ErrOutdated    = errors.New("certificate has expired since its connection began")
)

// Directory holds the identities and their rights at one moment. It never changes: after a change of its sources, a new Directory
// replaces it.
type Directory struct {
	File File
	// Lookup finds the tokens of the store; nil without an error if there is none. It may be nil.
	Lookup func(id string) (*Token, error)
	OpenID bool // an OpenID provider proves principals; false: the sessions that it began have ended
}

// Caller is the proven identity of a client, and the rights of that identity.
type Caller struct {
	Identity
	Grants
}

// ByToken returns the caller that the text of a token proves. The error is ErrToken, ErrUnknown or ErrExpired.
func (d *Directory) ByToken(text string, now time.Time) (Caller, error) {
	secret, err := ParseSecret(text)
	if err != nil {
		return Caller{}, err
	}
	token, err := d.token(secret.ID)
	if token == nil {
		secret.Proves(&Token{}) // so that an unknown id takes as long as a known one
		return Caller{}, cmp.Or(err, ErrUnknown)
	}
	switch {
	case !secret.Proves(token):
		return Caller{}, ErrUnknown
	case token.Expired(now):
		return Caller{}, ErrExpired
	}
	who := token.Identity()
	return Caller{who, GrantsOf(who, d.File.Bindings, token)}, nil
}

// token finds a token in the file and in the store. The error is ErrStale if the store could not be asked for long.
func (d *Directory) token(id string) (*Token, error) {
	if t := d.File.Token(id); t != nil {
		return t, nil
	}
	if d.Lookup == nil {
		return nil, nil
	}
	return d.Lookup(id)
}

// ByCertificate returns the caller that a client certificate proves. TLS has verified the certificate before. The cluster in its
// URI does not count, because the authority alone decides: one that replaces another may have been made with another name.
func (d *Directory) ByCertificate(cert *x509.Certificate) (Caller, error) {
	for _, uri := range cert.URIs {
		id, err := ParseCertificateID(uri)
		if err != nil {
			continue
		}
		who := id.Identity()
		return Caller{who, GrantsOf(who, d.File.Bindings, nil)}, nil
	}
	if principal := d.File.Certificates[cert.Subject.CommonName]; principal != "" {
		who := Identity{Principal: principal, Method: ByCertificate}
		return Caller{who, GrantsOf(who, d.File.Bindings, nil)}, nil
	}
	return Caller{}, ErrCertificate
}

// ByUser returns the caller at the other end of a Unix socket. name is the operating-system user, whom the listener has accepted.
func (d *Directory) ByUser(name string) Caller {
	who := Identity{Principal: name, Method: BySocket}
	return Caller{who, GrantsOf(who, []Binding{{Principal: name, Role: Administrator}}, nil)}
}
