// Package ics reads the days of the events in an iCalendar file (RFC 5545).
//
// # Guarantees
//
//   - The days are dates without a zone: two replicas read the same days from the same file, whatever their zones.
//   - Recurring events have days up to [Horizon].
//   - An event that is no whole day is an error. Nothing in a file is left out without one, except cancelled events and
//     components other than events.
//   - The amount of work is bounded by the limits of this package.
package ics
