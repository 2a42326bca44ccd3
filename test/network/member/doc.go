// Command member runs one etcd member in a process of its own, for tests that harm etcd and rota apart from each other.
package main
