// Package notify decides which events of jobs are reported to which notifiers.
//
// It has no goroutine, clock or store. A leader opens a Book with the store's content when its term starts, and applies every
// later change. Take returns notices to send. Done reports that a notice was sent, or given up. Records returns the records
// to store then, one for each job, with the revision up to which everything has been reported. The next leader continues
// from there.
//
//	run failed ─► Notice ─► sent to each notifier that wants it ─► done ─► told/<job> moves to its revision
//
// # Guarantees
//
// Everything is reported at least once, if its run or event is in the store when the next leader starts: the record moves
// after the sending, never before. If a leader dies between the two, the next one reports it again. If one notifier of several
// does not answer, the record says which ones are ahead of it. The next leader does not report the same to them again, apart
// from attempts of a run that goes on.
//
// A notifier gets one message for each cause, such as a job that fails, and a further one only after Notifier.Repeat. The record
// has the state of the causes, so that it outlives the leader.
//
// A run that succeeds costs no write, unless it ends a cause. A run that fails costs no write after the first message.
package notify
