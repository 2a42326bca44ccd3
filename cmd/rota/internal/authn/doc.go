// Package authn authenticates the callers of the API.
//
// A caller presents a token of the auth.file, or a client certificate that TLS has verified. The file is read again when it
// changes. If the changed file has mistakes, the last good version stays in force, and the mistake is logged.
package authn
