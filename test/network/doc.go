// Package network runs clusters on isolated hosts, to test them under partitions.
//
// A host is a network namespace with an address in a private subnet. All hosts are on one bridge, which the test joins. So the
// test reaches all hosts while they do not reach each other, records the store and uses the API. Packet filters in the
// namespaces cut links, and their counters prove that packets were dropped. A proxy in the test's process can keep connections
// open while they carry no data.
//
// It needs root, ip and iptables. If one of them is missing the tests are skipped; with ROTA_CI=1 they fail. A lab ends with
// its test or an interrupt; the next run removes what a killed run left behind.
package network
