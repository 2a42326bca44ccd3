// Package client calls the HTTP interface of rota from Go.
//
// A Client has the URLs of one or more servers. If a server does not answer, the Client calls the next one. It repeats every
// request that only reads. It repeats a change in two cases: the first server certainly did not receive it, or a second execution
// has no further effect. Otherwise the caller gets an error, and must read the state before it tries again.
package client
