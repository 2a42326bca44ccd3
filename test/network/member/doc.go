// Command member runs one etcd member as its own process. Tests use it to stop etcd while rota runs.
package main
