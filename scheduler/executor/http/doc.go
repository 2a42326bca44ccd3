// Package httpx executes HTTP requests.
//
// # What it guarantees
//
// One attempt sends its request at most once. Go's transport repeats requests that it takes for idempotent, such as
// those with an Idempotency-Key, when a kept-alive connection breaks; here it is told not to, unless the connection is
// known to have carried nothing of the request (or, in HTTP/2, the server says that it has not looked at it). Redirects
// are not followed and proxies from the environment are not used.
//
// # What it does not
//
// A request that was given up (timeout, cancel, broken connection) may still be served. The target tells attempts apart
// by Rota-Fencing-Token and recognises a repetition by Idempotency-Key.
package httpx
