package auth

import (
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Method is the way in which an identity was proven.
type Method string

// The methods.
const (
	ByNothing     Method = "none"        // Anonymous.
	ByToken       Method = "token"       // A bearer token.
	ByCertificate Method = "certificate" // A client certificate.
	BySession     Method = "session"     // The cookie of a browser that signed in.
	ByOIDC        Method = "oidc"        // A token of an OpenID provider.
	BySocket      Method = "socket"      // The user at the other end of a Unix socket.
	BySignature   Method = "signature"   // The signature of a request to a hook.
)

// Identity is the proven sender of a request. The zero value is anonymous.
type Identity struct {
	Principal string   // a person or a program; a process of the cluster is replica/<name> or worker/<name>
	Groups    []string // of the principal
	Method    Method
	Token     string // id of the token that proved the identity; empty with other methods

	origin Method    // with BySession: how the identity was proven when the session began
	ends   time.Time // with BySession: the latest end of the session
}

// Anonymous reports whether the sender of the request is unknown.
func (i Identity) Anonymous() bool { return i.Principal == "" }

// String returns the name of the identity for logs and records.
func (i Identity) String() string {
	if i.Anonymous() {
		return "anonymous"
	}
	return i.Principal
}

// The kinds of a CertificateID.
const (
	KindReplica = "replica"
	KindWorker  = "worker"
	KindUser    = "user"
)

// CertificateID is the content of the URI in a certificate of the cluster's own authority: rota://<cluster>/<kind>/<name>.
type CertificateID struct {
	Cluster, Kind, Name string
}

// String returns the URI.
func (c CertificateID) String() string {
	return (&url.URL{Scheme: "rota", Host: c.Cluster, Path: "/" + c.Kind + "/" + c.Name}).String()
}

// ParseCertificateID reads the URI of a certificate.
func ParseCertificateID(u *url.URL) (CertificateID, error) {
	kind, name, ok := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	switch {
	case u.Scheme != "rota", u.Host == "", !ok, name == "", strings.Contains(name, "/"):
		return CertificateID{}, fmt.Errorf("read certificate id %s: write rota://<cluster>/<replica|worker|user>/<name>", u)
	case kind != KindReplica && kind != KindWorker && kind != KindUser:
		return CertificateID{}, fmt.Errorf("read certificate id %s: kind %q is neither replica, worker nor user", u, kind)
	}
	return CertificateID{Cluster: u.Host, Kind: kind, Name: name}, nil
}

// Identity returns the identity that the certificate proves. Only a user has roles; replicas and workers have the right Peer.
func (c CertificateID) Identity() Identity {
	if c.Kind == KindUser {
		return Identity{Principal: c.Name, Method: ByCertificate}
	}
	return Identity{Principal: c.Kind + "/" + c.Name, Method: ByCertificate}
}

// Peer reports whether the identity is a replica or a worker of the cluster.
func (i Identity) Peer() bool {
	kind, name, ok := strings.Cut(i.Principal, "/")
	return ok && name != "" && (kind == KindReplica || kind == KindWorker) && i.Method == ByCertificate
}
