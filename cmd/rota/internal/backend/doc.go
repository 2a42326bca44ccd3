// Package backend answers the requests of the API.
//
// A replica answers most of them from its mirror, and the rest from the store. A worker serves only outputs and its health.
package backend
