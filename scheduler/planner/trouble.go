package planner

import "time"

// trouble is what is known of a job whose decisions were refused, or whose slots wait or had to. Most jobs have none.
type trouble struct {
	refusals     int        // decisions that were refused since one was committed
	retryAt      time.Time  // after a refusal: not before it, unless something changes
	missedBefore time.Time  // slots due before it passed while they could not be decided by no fault of the job
	blockedBy    string     // id of the run for which the next slot waits
	overlapped   overlapped // what that run's ordinary end tells of the slots that waited for it
	taken        string     // id of a slot that was found to have a record already
	oversized    string     // id of a run that the store does not take with a worker's name in it
	lacking      int        // runs that are due and for which no worker has room, when we last looked
}

// overlapped says that run was alive at every slot from from to upTo, by the job's own fault.
type overlapped struct {
	run        string
	from, upTo time.Time
}

func (o overlapped) covers(due time.Time) bool {
	return o.run != "" && !due.Before(o.from) && !due.After(o.upTo)
}

// told is the job's trouble as it is.
func (j *jobState) told() trouble {
	if j.trouble == nil {
		return trouble{}
	}
	return *j.trouble
}

// note is the job's trouble, to be changed.
func (j *jobState) note() *trouble {
	if j.trouble == nil {
		j.trouble = new(trouble)
	}
	return j.trouble
}

// calm lets the job be decided about again at once, since something has changed.
func (j *jobState) calm() {
	if j.trouble != nil {
		j.trouble.retryAt = time.Time{}
	}
}

// forgive forgets what an earlier term met with.
func (j *jobState) forgive() {
	if j.trouble == nil {
		return
	}
	*j.trouble = trouble{taken: j.trouble.taken, oversized: j.trouble.oversized}
	j.relieve()
}

// relieve lets go of trouble that is over.
func (j *jobState) relieve() {
	if j.trouble != nil && *j.trouble == (trouble{}) {
		j.trouble = nil
	}
}
