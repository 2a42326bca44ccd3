// Package httpx executes HTTP requests.
//
// # Guarantees
//
//   - An attempt sends its request at most once. When a kept connection breaks, Go's transport would repeat requests
//     that it considers idempotent, such as those with an Idempotency-Key. This package prevents that, unless the
//     connection has certainly carried no part of the request.
//   - The connection of a request may be opened before its time, and nothing of the request is sent then. If that connection
//     has failed, or the target has closed it, the request gets another one.
//   - Redirects are not followed, and proxies from the environment are not used.
//   - When an attempt is canceled, unsent bytes of its request are discarded. For that, a request has a connection to
//     itself, so the protocol is HTTP/1.1 and never HTTP/2.
//
// # Not guaranteed
//
// A target that serves one connection at a time is occupied by a connection that was opened ahead. A target that closes it just
// as the request is sent breaks the request, like any other connection.
//
// The target may still serve a request that was canceled (timeout, cancel, broken connection), if its bytes were sent.
// The target tells attempts apart by Rota-Fencing-Token and recognizes a repetition by Idempotency-Key.
package httpx
