package job

// MaxDeletions is how many runs one Decision may remove.
const MaxDeletions = 16

// Decision is one change that a leader wants: at most one run, one cursor and one event of one job, and some of its
// history, all or nothing.
// A record's Rev is the revision that it replaces; zero means that it must not exist.
type Decision struct {
	Job       string
	JobRev    int64   // the definition that was decided from: refused if it has changed since; 0: not compared
	Gate      int64   // the gate's revision, 0 if there is none: a slot's new Run, and an armed one, is refused if that has changed since
	Run       *Run    // an armed run is handed to its worker in the same transaction
	Cursor    *Cursor // moved
	Event     *Event  // created
	Stop      bool    // Run's worker is told to kill the attempt
	GaveUp    bool    // Run's last attempt is one that had begun, and that its worker has not ended
	Deletions []*Run  // removed from history: terminal runs, at most MaxDeletions
}

// Applied is what became of a Decision. Either Err is nil and Rev is the revision at which all of it was written, or
// nothing of it was: then, with ErrConflict, Run and Cursor are the records as they stand, nil where there is none.
type Applied struct {
	Rev    int64
	Err    error
	Run    *Run
	Cursor *Cursor

	Unreadable bool // there is a record where the run belongs, but nobody can read it
	BadCursor  bool // there is a cursor, but nobody can read it
}
