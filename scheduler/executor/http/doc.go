// Package httpx executes HTTP requests.
//
// # What it guarantees
//
// One attempt sends its request at most once. Go's transport repeats requests that it takes for idempotent, such as
// those with an Idempotency-Key, when a kept-alive connection breaks; here it is told not to, unless the connection is
// known to have carried nothing of the request. Redirects are not followed and proxies from the environment are not used.
//
// What of a request has not left this machine when its attempt is given up never does. For that it has a connection to
// itself while it is under way: HTTP/1.1, and not HTTP/2.
//
// # What it does not
//
// A request that was given up (timeout, cancel, broken connection) may still be served, if it had left. The target tells
// attempts apart by Rota-Fencing-Token and recognises a repetition by Idempotency-Key.
package httpx
