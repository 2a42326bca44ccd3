package auth

import (
	"crypto/subtle"
	"crypto/x509"
	"errors"
	"time"
)

// The reasons for which a proof of identity is refused. The answer to a client is the same for all of them; logs and metrics
// tell them apart.
var (
	ErrUnknown     = errors.New("token is unknown or was revoked")
	ErrExpired     = errors.New("token has expired")
	ErrCertificate = errors.New("certificate names no principal of this cluster")
)

// Directory knows who may do what at one moment. It is a value: a change of its sources makes another one.
type Directory struct {
	File    File
	Cluster string                 // the name in the URI of certificates; empty: any
	Lookup  func(id string) *Token // the tokens of the store; may be nil
	Secret  string                 // with which processes of the cluster prove themselves; empty: they cannot
}

// Caller is whom a request was proven to come from, and what that one may do.
type Caller struct {
	Identity
	Grants
}

// ByToken proves a caller by the text of a token. The error is ErrToken, ErrUnknown or ErrExpired.
func (d *Directory) ByToken(text string, now time.Time) (Caller, error) {
	if name, ok := d.process(text); ok {
		who := Identity{Principal: name, Method: ByCluster}
		return Caller{who, GrantsOf(who, nil, nil)}, nil
	}
	secret, err := ParseSecret(text)
	if err != nil {
		return Caller{}, err
	}
	token := d.token(secret.ID)
	if token == nil {
		secret.Proves(&Token{}) // so that an unknown id takes as long as a known one
		return Caller{}, ErrUnknown
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

func (d *Directory) token(id string) *Token {
	if t := d.File.Token(id); t != nil {
		return t
	}
	if d.Lookup == nil {
		return nil
	}
	return d.Lookup(id)
}

// ByCertificate proves a caller by a client certificate, which TLS has verified.
func (d *Directory) ByCertificate(cert *x509.Certificate) (Caller, error) {
	for _, uri := range cert.URIs {
		id, err := ParseCertificateID(uri)
		if err != nil || d.Cluster != "" && id.Cluster != d.Cluster {
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

// ByUser proves a caller by the operating-system user at the other end of a Unix socket, whom the listener let in.
func (d *Directory) ByUser(name string) Caller {
	who := Identity{Principal: name, Method: BySocket}
	return Caller{who, GrantsOf(who, []Binding{{Principal: name, Role: Administrator}}, nil)}
}

// clusterPrefix begins the token of a process of the cluster: rota-cluster:<replica|worker>/<name>:<secret>.
const clusterPrefix = "rota-cluster:"

// ProcessToken is what a process of the cluster shows to another one. A reader of the store can make one: access to the
// store is access to everything.
func (d *Directory) ProcessToken(kind, name string) string {
	return clusterPrefix + kind + "/" + name + ":" + d.Secret
}

// process returns the name in the token of a process, and whether the token is genuine.
func (d *Directory) process(text string) (name string, ok bool) {
	rest := len(text) - len(d.Secret) - 1
	if d.Secret == "" || rest <= len(clusterPrefix) || text[:len(clusterPrefix)] != clusterPrefix || text[rest] != ':' {
		return "", false
	}
	return text[len(clusterPrefix):rest], subtle.ConstantTimeCompare([]byte(text[rest+1:]), []byte(d.Secret)) == 1
}
