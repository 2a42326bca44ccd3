// Package signin signs a person in by an OpenID provider, for the command line.
//
// The person signs in with the device flow (RFC 8628), so the browser may be on another machine. Each token that the provider
// gives is checked: issuer, audience, signature and expiry.
package signin
