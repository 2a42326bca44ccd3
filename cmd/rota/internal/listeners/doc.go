// Package listeners knows at which addresses the processes of the cluster listen.
//
// A job must not reach these addresses. Otherwise the author of a job could define a request to rota's own API, or to etcd, and
// use the rights of the worker. Listeners learns the addresses of a new process after a few seconds.
package listeners
