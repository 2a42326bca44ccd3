// Package webhook verifies the signed requests that start jobs.
//
// A delivery is signed as Standard Webhooks (https://www.standardwebhooks.com) says: webhook-signature authenticates the id, the
// time and the body. Nothing else of a request is signed, so nothing else is used. Verify accepts a delivery only within
// Tolerance of its time. The caller makes one run for an id, so a repetition within that time starts nothing.
package webhook
