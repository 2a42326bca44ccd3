// Package listeners knows at which addresses the processes of the cluster listen.
//
// A job must not reach them: the author of a job could otherwise define a request for rota's own API, or for etcd, and get the
// rights of the worker. A process that starts is known after a few seconds.
package listeners
