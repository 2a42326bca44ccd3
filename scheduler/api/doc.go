// Package api is rota's HTTP interface: JSON under /v1, described by OpenAPI 3.1, and the probes of a process.
//
// It holds no state of its own. It reads from a replica's mirror and acts through interfaces that are declared here
// and implemented elsewhere; any replica answers, since only dispatching needs the leader. A process that has no
// mirror (a worker) serves logs, probes and metrics alone.
//
// Guarantees: an answer to a read may be as old as the mirror is, and says at which store revision it was written; an
// answer of 2xx to a write means that the store has accepted it; 409, 412, 422 and 507 mean that nothing was written.
// Not guaranteed: after 500, 503, 504 or a broken connection a write may or may not have happened. A submission with a
// key, a definition with If-Match and every pause or cancel may then simply be sent again.
//
// There is no authentication here. What is here against browsers: a page of another site cannot change anything.
package api
