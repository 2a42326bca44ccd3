// Package authn authenticates the callers of the API.
//
// A caller presents a token of the auth.file or the store, a token of an OpenID provider, a client certificate that TLS has
// verified, or the cookie of a session. The file is read again when it changes. If the changed file has mistakes, the last good
// version stays in force, and the mistake is logged.
//
// Sessions are records of the store, so every replica knows them, and any can end one. A process looks a session up at most once a
// second. While the store does not answer, a session that the process knows stays valid for ten minutes, and nobody can sign in.
package authn
