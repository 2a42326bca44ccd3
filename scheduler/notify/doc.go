// Package notify decides what is to be told about jobs, and to whom; no goroutine, no clock, no store.
//
// A Book is a leader's: it is opened with what the store has when a term begins, and fed every change from then on. What it
// gives out (Take) is to be sent, and settled when that has been done, or given up on. What is settled it has written down
// (Marks), as one record for each job: up to which revision everything has been told. The next leader goes on from there.
//
//	run failed ─► Notice ─► sent to each notifier that wants it ─► settled ─► told/<job> moves to its revision
//
// # Guarantees
//
// Everything that is to be told is told at least once, as long as its run or event is in the store when the next leader looks:
// the record moves after the sending, never before. A leader that dies between the two has the next one tell it again.
//
// A run that succeeds costs no write, unless it is a recovery that is told.
package notify
