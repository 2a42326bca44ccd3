// Package holes repeats the attacks that were found against version 0.1.0. Each attack must succeed against that version, which the
// tests build from its commit, and fail against the present one. So an attack that no longer works for another reason is noticed.
//
// The tests run in a network and a process namespace of their own, where they can have any address and the ports of `rota dev`.
// This needs root. The services and the attackers on their machine have users of their own.
package holes
