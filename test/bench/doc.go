// Command bench measures the speed of real nodes in this process, with embedded etcd on disk.
//
//	go run ./test/bench throughput -rate 20000
//	go run ./test/bench herd -runs 100000
//	go run ./test/bench workflow -workflows 2000
//	go run ./test/bench scale -jobs 1000000
//	go run ./test/bench idle
//	go run ./test/bench pages
//	go run ./test/bench delayed
//	go run ./test/bench floor
//	go run ./test/bench core
//
// Each benchmark first measures etcd alone, in the same minute, on the same machine and disk and with the same number of
// members. On a shared machine, only the comparison of the two figures is meaningful. A benchmark fails if a slot was lost, ran
// twice, or has no outcome in the store.
package main
