// Package etcdconn connects a process to its etcd.
//
// The etcd is either a cluster of its own, reached over the network, or a member that this process embeds. A Conn chooses the
// endpoints that answer, informs the store of changes, and looks after an embedded member.
package etcdconn
