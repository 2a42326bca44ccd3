// Package credentials keeps the proofs that the command line presents to servers.
//
// A file of credentials belongs to one user of the machine. It names servers by their origin, so that a proof never reaches another
// server. A file that others can read is refused.
package credentials
