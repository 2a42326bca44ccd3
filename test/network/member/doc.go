// Command member runs one etcd member as a process of its own, for tests that make faults of etcd and of rota separately.
package main
