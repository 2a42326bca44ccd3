// Package client speaks rota's HTTP interface from Go.
//
// It may be given several servers, and asks the next one when one does not answer. A read is asked again of any other
// server; a change only if the first server certainly did not get it, or if repeating it is harmless because it has an
// idempotency key. Otherwise the caller is told, and looks before it tries again.
package client
