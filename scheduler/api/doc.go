// Package api is the HTTP interface of a rota process.
//
// It serves JSON under /v1, described by OpenAPI 3.1, and the probes of the process. It has no state. It reads from a replica's
// mirror and acts through interfaces that are declared here and implemented elsewhere. Any replica answers, since only
// dispatching needs the leader. A worker has no mirror, so it serves logs, probes and metrics alone.
//
// Guarantees: an answer to a read may be as old as the mirror, and names the store revision of its record. After an answer of
// 2xx to a write, the store has accepted it. After 409, 412, 422 and 507, nothing was written.
//
// Not guaranteed: after 500, 503, 504 or a broken connection, a write may or may not have happened. A client may repeat a
// submission with a key, a definition with If-Match, and every pause or cancel.
//
// This package does not authenticate clients. It protects against browsers: a page of another site cannot change anything.
package api
