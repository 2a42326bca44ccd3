// Command member runs one etcd member as a process of its own. Tests use it to break etcd apart from rota.
package main
