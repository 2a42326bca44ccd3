// Package network runs clusters on hosts of their own and cuts the links between them.
//
// A host is a network namespace with an address in a private subnet. The hosts hang on one bridge, to which the test is
// joined, so it reaches all of them also while they do not reach each other: it records the store and asks the API. Links
// are cut by packet filters in the namespaces, whose counters prove that something was held back. Connections that stay
// and carry nothing are made by a proxy in the test's process.
//
// It needs root, ip and iptables. Where one of them is missing the tests are skipped and say so; with ROTA_CI=1 they fail.
// Nothing of a lab outlives its test, nor an interrupt; what a run left behind that was killed, the next one sweeps.
package network
