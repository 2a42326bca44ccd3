package config

import (
	"net"
	"net/url"
	"slices"
	"strings"
)

func (s *Settings) checkEtcd(fail func(key, hint, format string, args ...any)) {
	e := s.Etcd
	if p := e.Prefix; !strings.HasPrefix(p, "/") || len(p) > 1 && strings.HasSuffix(p, "/") || p == "/" || strings.Contains(p, "//") {
		fail("etcd.prefix", "such as /rota", "%s must begin with a slash, name something and not end with a slash", quote(p))
	}
	for i, endpoint := range e.Endpoints {
		if reason := checkURL(endpoint); reason != "" {
			fail("etcd.endpoints", "such as https://etcd-1:2379", "%s %s", quote(endpoint), reason)
		}
		for _, other := range e.Endpoints[:i] {
			if other == endpoint {
				fail("etcd.endpoints", "remove one of the two", "names %s twice", quote(endpoint))
			}
		}
	}
	if len(e.Endpoints) > 0 {
		if MixesTLS(e.Endpoints) {
			fail("etcd.endpoints", "write https:// for all of them", "has both http:// and https://: the first one decides for all")
		}
		return
	}
	if reason := checkURL(e.Embedded.Client); reason != "" {
		fail("etcd.embedded.client", "such as http://127.0.0.1:2379", "%s %s", quote(e.Embedded.Client), reason)
	}
	if reason := checkURL(e.Embedded.Peer); reason != "" {
		fail("etcd.embedded.peer", "such as http://127.0.0.1:2380", "%s %s", quote(e.Embedded.Peer), reason)
	}
	s.checkPorts(fail)
	s.checkMemberTLS(fail)
}

// checkPorts reports settings that let this process listen twice at one address.
func (s *Settings) checkPorts(fail func(key, hint, format string, args ...any)) {
	e, at := s.Etcd.Embedded, map[string]string{s.HTTP.Listen: "http.listen"}
	for _, of := range []struct{ key, text string }{{"etcd.embedded.client", e.Client}, {"etcd.embedded.peer", e.Peer}} {
		u, err := url.Parse(of.text)
		alone := of.key == "etcd.embedded.peer" && e.Cluster == "" // a single member has no peers
		if err != nil || u.Host == "" || u.Port() == "0" || alone {
			continue
		}
		if other := at[u.Host]; other != "" {
			fail(of.key, "give it another port", "%s is also the address of %s", quote(of.text), other)
		}
		at[u.Host] = of.key
	}
}

// checkMemberTLS checks the TLS of the embedded etcd. It has either no TLS, or TLS on all its URLs that authenticates both sides.
func (s *Settings) checkMemberTLS(fail func(key, hint, format string, args ...any)) {
	e := s.Etcd.Embedded
	const all = "give etcd.embedded.tls.cert, key and ca; rota pki makes them"
	given := map[string]string{
		"etcd.embedded.tls.cert": e.TLS.Cert, "etcd.embedded.tls.key": e.TLS.Key, "etcd.embedded.tls.ca": e.TLS.CA,
	}
	secure := e.TLS != (ClientTLS{})
	for _, key := range sortedKeys(given) {
		if secure && given[key] == "" {
			fail(key, all, "is missing beside the others")
		}
	}
	urls := map[string]string{"etcd.embedded.client": e.Client}
	if e.Cluster != "" {
		urls["etcd.embedded.peer"] = e.Peer // a single member has no peers
	}
	if e.TLSOptional && !secure {
		fail("etcd.embedded.tls.optional", all, "is given without a certificate")
	}
	for _, key := range sortedKeys(urls) {
		switch https := secureURL(urls[key]); {
		case https && !secure:
			fail(key, all, "%s needs a certificate", quote(urls[key]))
		case !https && secure && !e.TLSOptional:
			const hint = "write https://, or etcd.embedded.tls.optional: true while the cluster changes to TLS"
			fail(key, hint, "%s is plain although etcd.embedded.tls is given", quote(urls[key]))
		}
	}
}

// checkCluster checks the list of embedded members. This node must be in the list.
func (s *Settings) checkCluster(fail func(key, hint, format string, args ...any)) {
	if len(s.Etcd.Endpoints) > 0 || s.Etcd.Embedded.Cluster == "" {
		return
	}
	const key, hint = "etcd.embedded.cluster", "such as q1=http://q1:2380,q2=http://q2:2380,q3=http://q3:2380"
	peers := map[string]string{}
	for part := range strings.SplitSeq(s.Etcd.Embedded.Cluster, ",") {
		name, peer, ok := strings.Cut(part, "=")
		name, peer = strings.TrimSpace(name), strings.TrimRight(strings.TrimSpace(peer), "/")
		if !ok {
			fail(key, hint, "has %s, which is not name=URL", quote(part))
			return
		}
		if reason := checkURL(peer); reason != "" {
			fail(key, hint, "%s %s", quote(peer), reason)
		}
		if peers[name] != "" {
			fail(key, hint, "names %s twice", quote(name))
			continue
		}
		if e := s.Etcd.Embedded; !secureURL(peer) && secureURL(e.Peer) && !e.TLSOptional {
			fail(key, "write https:// for all members", "%s is plain, and etcd.embedded.peer is not", quote(peer))
		}
		peers[name] = peer
	}
	if e := s.Etcd.Embedded; e.Rejoin == RejoinAuto && len(peers) > 1 && IsLoopback(e.Client) && !IsLoopback(e.Peer) {
		fail("etcd.embedded.client", "write the address that etcd.embedded.peer has, with another port",
			"%s cannot be reached by the other members, and etcd.embedded.rejoin is auto", quote(e.Client))
	}
	switch peer := peers[s.Node.Name]; peer {
	case strings.TrimRight(s.Etcd.Embedded.Peer, "/"):
	case "":
		fail(key, "add "+s.Node.Name+"="+s.Etcd.Embedded.Peer, "does not name this node, %s", quote(s.Node.Name))
	default:
		fail("etcd.embedded.peer", "write the same in both", "%s is not what etcd.embedded.cluster says of %s: %s",
			quote(s.Etcd.Embedded.Peer), quote(s.Node.Name), quote(peer))
	}
}

// MixesTLS reports whether some of etcd's endpoints use TLS and others do not. The client of etcd uses TLS for all or for none.
func MixesTLS(endpoints []string) bool {
	return slices.ContainsFunc(endpoints, func(e string) bool { return secureURL(e) != secureURL(endpoints[0]) })
}

func secureURL(text string) bool { return strings.HasPrefix(text, "https://") }

// IsLoopback reports whether a URL leads to this machine alone.
func IsLoopback(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
