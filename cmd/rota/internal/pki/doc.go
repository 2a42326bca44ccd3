// Package pki makes the certificates of a cluster's own authority.
//
// A certificate names its owner in a URI, rota://<cluster>/<replica|worker|user>/<name>. A certificate is valid for servers and
// for clients. So a replica needs only one for its API, its etcd member, and its requests to others.
package pki
