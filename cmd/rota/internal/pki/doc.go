// Package pki makes the certificates of a cluster's own authority.
//
// A certificate names its owner in a URI, rota://<cluster>/<replica|worker|user>/<name>. It serves at both ends of a connection,
// so that a replica needs one certificate for its API, its etcd member, and its requests to others.
package pki
