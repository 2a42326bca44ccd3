// Package httpx executes HTTP requests.
//
// # Guarantees
//
//   - An attempt sends its request at most once. When a kept connection breaks, Go's transport would repeat requests
//     that it considers idempotent, such as those with an Idempotency-Key. This package prevents that, unless the
//     connection has certainly carried no part of the request.
//   - Redirects are not followed, and proxies from the environment are not used.
//   - When an attempt is canceled, unsent bytes of its request are discarded. For that, a request has a connection to
//     itself, so the protocol is HTTP/1.1 and never HTTP/2.
//
// # Not guaranteed
//
// The target may still serve a request that was canceled (timeout, cancel, broken connection), if its bytes were sent.
// The target tells attempts apart by Rota-Fencing-Token and recognizes a repetition by Idempotency-Key.
package httpx
