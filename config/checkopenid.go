package config

import (
	"net/url"
	"slices"
)

// checkOpenID checks the settings of the OpenID provider.
func (s *Settings) checkOpenID(fail func(key, hint, format string, args ...any)) {
	o := s.Auth.OIDC
	if o.Issuer == "" {
		if o.ClientID != "" {
			fail("auth.oidc.client_id", "give auth.oidc.issuer too", "is given without auth.oidc.issuer")
		}
		return
	}
	const hint = "such as https://login.example.com, exactly as the provider writes it"
	u, err := url.Parse(o.Issuer)
	switch {
	case err != nil || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		fail("auth.oidc.issuer", hint, "%s is not the URL of an issuer", quote(o.Issuer))
	case u.Scheme != "https" && (u.Scheme != "http" || !IsLoopback(o.Issuer)):
		fail("auth.oidc.issuer", hint, "%s does not begin with https://", quote(o.Issuer))
	}
	if o.ClientID == "" {
		fail("auth.oidc.issuer", "give auth.oidc.client_id, as the provider shows it", "is given without auth.oidc.client_id")
	}
	if s.Auth.Mode == AuthOff {
		fail("auth.oidc.issuer", "set auth.mode: required", "has no effect while auth.mode is off")
	}
	if !slices.Contains(o.Scopes, "openid") {
		fail("auth.oidc.scopes", "add openid", "lacks openid, without which a provider gives no token")
	}
}
