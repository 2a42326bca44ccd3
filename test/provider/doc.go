// Package provider is an OpenID provider for tests.
//
// It listens on loopback and signs real tokens. It has discovery, keys that rotate, the code flow with PKCE, and the device flow of
// RFC 8628. Refresh tokens can be used once, and can be revoked. Its users need no password.
package provider
