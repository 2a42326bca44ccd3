// Package authn proves who sends a request to the API.
//
// A caller shows a token of the auth.file, or a client certificate that TLS has verified. The file is read again when it changes.
// A file with mistakes changes nothing: the last good one stays in force, and the mistake is logged.
package authn
