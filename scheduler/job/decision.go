package job

// MaxDeletions is how many runs one Decision may remove.
const MaxDeletions = 16

// Decision is one change that a leader makes, all or nothing. It concerns one job: at most one run, one cursor and one
// event, and deletions from its history. A backfill also creates the runs of the steps behind the job. A record's Rev is the
// revision that it replaces; zero means that the record must not exist.
type Decision struct {
	Job       string
	JobRev    int64     // revision of the definition; if it has changed since, the write is refused; 0: not compared
	Gate      int64     // revision of the gate, 0 if there is none; if it has changed since, new slots and armed runs are refused
	Run       *Run      // an armed run is handed to its worker in the same transaction
	Cursor    *Cursor   // replaced
	Event     *Event    // created
	Backfill  *Backfill // replaced
	Behind    []Run     // created together with Run: the steps of its workflow, which wait for their parents
	Stop      bool      // hands Run's worker an order to kill the attempt
	GaveUp    bool      // the leader ended Run's last attempt, which its worker had begun and not ended
	Guards    []Guard   // other records that the decision depends on; at most MaxParents, and MaxLimits
	Deletions []*Run    // removed from history: terminal runs, at most MaxDeletions
}

// Guard is a record on which a decision depends. If its revision has changed, the write is refused. Rev 0 means that there must be
// no record.
type Guard struct {
	Kind RecordKind
	Name string
	Rev  int64
}

// Gone returns the change of the record to its absence. Any later record is newer.
func (g Guard) Gone() Change { return Change{Kind: g.Kind, Name: g.Name, Rev: g.Rev + 1} }

// Applied is the result of a Decision. If Err is nil, all of it was written at Rev. Otherwise nothing was. With
// ErrConflict, Run and Cursor are the present records, nil where there is none. Guarded has the present records of the runs in
// Decision.Guards, as changes.
type Applied struct {
	Rev     int64
	Err     error
	Run     *Run
	Cursor  *Cursor
	Guarded []Change

	Unreadable bool // the run's record exists and is unreadable
	BadCursor  bool // the cursor exists and is unreadable
}
