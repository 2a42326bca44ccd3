package planner

import "time"

// trouble holds the state of a job whose decisions were refused, or whose slots wait or had to wait. Most jobs have none.
type trouble struct {
	refusals     int          // refused decisions since the last committed one
	retryAt      time.Time    // after a refusal: no decision before this time, unless something changes
	downBefore   time.Time    // slots due before this time count as missed: nobody could dispatch them
	missedBefore time.Time    // the same, because they waited for a late run; see overlapped
	blockedBy    string       // id of the run that the next slot waits for
	overlapped   overlapped   // the slots that waited because of the job itself; set when the run ends
	taken        string       // id of a slot that already has a record
	oversized    string       // id of a run that is too large for the store once it names a worker
	unseen       int64        // revision of a cursor whose runs the feed may not have brought yet
	putAhead     bool         // somebody put the cursor into the future by hand: the known one must be written again
	unplaced     unplacedRuns // due runs without a worker at the last decision
	queuedSince  time.Time    // when the first of the runs came due that later slots replaced unstarted; zero: the last one started
}

// overlapped holds the interval in which the run was active. The job's overlap policy applies to the slots in this interval.
// The interval excludes the time that the cluster added to the run.
type overlapped struct {
	run        string
	from, upTo time.Time
	planned    time.Time // when it would have begun without delay
	late       bool      // it was late: slots that it would not have met count as missed; see overlaps
}

func (o overlapped) covers(due time.Time) bool {
	return o.run != "" && !due.Before(o.from) && !due.After(o.upTo)
}

// reason returns why a slot was skipped for the run.
func (o overlapped) reason(due time.Time) string {
	if o.covers(due) {
		return reasonWasActive(o.run)
	}
	return reasonWouldBeActive(o.run)
}

// trouble returns a copy of the job's trouble.
func (j *jobState) trouble() trouble {
	if j.maybeTrouble == nil {
		return trouble{}
	}
	return *j.maybeTrouble
}

// ensureTrouble returns the job's trouble for changes.
func (j *jobState) ensureTrouble() *trouble {
	if j.maybeTrouble == nil {
		j.maybeTrouble = new(trouble)
	}
	return j.maybeTrouble
}

// clearBackoff allows the next decision at once, because something has changed.
func (j *jobState) clearBackoff() {
	if j.maybeTrouble != nil {
		j.maybeTrouble.retryAt = time.Time{}
	}
}

// resetTrouble clears the fields that are valid for one term only.
func (j *jobState) resetTrouble() {
	if j.maybeTrouble != nil {
		*j.maybeTrouble = trouble{
			taken: j.maybeTrouble.taken, oversized: j.maybeTrouble.oversized, queuedSince: j.maybeTrouble.queuedSince,
		}
		j.dropEmptyTrouble()
	}
}

// dropEmptyTrouble frees the memory of trouble that is over.
func (j *jobState) dropEmptyTrouble() {
	if j.maybeTrouble != nil && *j.maybeTrouble == (trouble{}) {
		j.maybeTrouble = nil
	}
}
