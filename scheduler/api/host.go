package api

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// knownHost refuses requests whose Host is not a name of this process.
//
// The owner of a web page can let the page's name resolve to any address, even to a loopback address of this machine. Then the
// browser treats rota as a part of the page's site, and lets the page read and change everything. But the browser sends the
// page's name as Host, and no page can change that. If the Host is an address, the request is safe, because an address needs no
// resolution.
func (s *Server) knownHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if host := (&url.URL{Host: r.Host}).Hostname(); !s.isOwnName(host) {
			s.refused(RefusedHost)
			s.slowDown(r)
			s.leaveBody(w, r)
			writeProblem(w, http.StatusMisdirectedRequest, fmt.Sprintf(
				"this process does not answer under the name %q: use its address, or add the name to http.hosts. "+
					"A proxy must send the Host of its client", host))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isOwnName reports whether a host is an address, localhost, or one of Config.Hosts. It also accepts an empty host, which clients
// of HTTP/1.0 send. No browser uses HTTP/1.0.
func (s *Server) isOwnName(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if _, err := netip.ParseAddr(host); err == nil || host == "" || host == "localhost" {
		return true
	}
	return slices.ContainsFunc(s.cfg.Hosts, func(own string) bool {
		own = strings.ToLower(own)
		if domain, ok := strings.CutPrefix(own, "*."); ok {
			return strings.HasSuffix(host, "."+domain)
		}
		return host == own
	})
}
