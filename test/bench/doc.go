// Command bench measures the speed of real nodes in this process, with embedded etcd on disk.
//
//	go run ./test/bench throughput -rate 20000
//	go run ./test/bench herd -runs 100000
//	go run ./test/bench scale -jobs 1000000
//	go run ./test/bench idle
//	go run ./test/bench floor
//
// Each benchmark first measures etcd alone with the same machine, disk and number of members in the same minute. On
// a shared machine, figures only mean something side by side. It fails if a slot was lost, ran twice, or did not end in the
// store.
package main
