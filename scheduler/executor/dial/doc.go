// Package dial decides which network addresses a process may reach on behalf of a definition.
//
// The decision is made for the address that is dialled, after the name was resolved. So a name that resolves to another
// address at its second lookup, an unusual notation of an address, and a redirect cannot get around it.
//
// The order of the rules:
//
//  1. Addresses that no definition ever has a reason to reach are refused: link-local addresses, metadata services,
//     multicast, the unspecified address, and rota's own API and etcd.
//  2. Prefixes of Config.Deny are refused.
//  3. Prefixes of Config.Allow are accepted.
//  4. Loopback is refused.
//  5. All other addresses are accepted, including private networks.
//
// Not guaranteed: a proxy or a forwarder behind an accepted address may reach anything that it can.
package dial
