// Package timeline makes the timeline of a cluster from the records of the store.
//
// Replicas report which others did not answer them. Absences decides from these reports who was absent. Ledger turns absences and
// terms into the events that a leader keeps. Entries merges those events with runs and skipped slots, and Describe summarizes one
// incident in sentences.
//
// The package has no clock and no store. Its answers are the same on every replica that has the same records.
package timeline
