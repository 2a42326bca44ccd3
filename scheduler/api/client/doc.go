// Package client calls the HTTP interface of rota from Go.
//
// A Client has the URLs of one or more servers. If a server does not answer, it calls the next one. It repeats a read at any
// other server. It repeats a change only if the first server certainly did not get it, or if a second execution does no harm.
// Otherwise the caller gets an error, and must read the state before it tries again.
package client
