// Package api is the HTTP interface of a rota process.
//
// It serves JSON under /v1, described by OpenAPI 3.1, and the probes of the process. It has no state of its own. It reads from a
// replica's mirror. It acts through interfaces that are declared here and implemented elsewhere. Any replica can answer, because
// only dispatching needs the leader. A worker has no mirror, so it serves only logs, probes and metrics.
//
// Guarantees: the answer to a read may be as old as the mirror, and has the store revision of its record. If a write is answered
// with 2xx, the store has accepted it. After 409, 412, 422 and 507, nothing was written.
//
// Not guaranteed: after 500, 503, 504 or a broken connection, it is unknown whether a write happened. A client may repeat a
// submission with a key, a definition with If-Match, and every pause or cancel.
//
// A page for browsers is a handler of routes, wrapped by signedIn: a browser without a session gets the login page, which leads
// back.
// The session's caller is proven(ctx), as with every other proof, so a page has the rights of its user and no others. A page ends
// the session by a form that posts to /logout.
//
// This package does not authenticate clients; an Authenticator does. It protects against browsers: a page of another site cannot
// change anything.
package api
