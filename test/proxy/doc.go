// Package proxy disturbs connections to etcd.
//
// A Link passes bytes, and a Relay passes calls. A process under test connects to one of them instead of etcd.
package proxy
