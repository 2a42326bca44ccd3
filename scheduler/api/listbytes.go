package api

import (
	"iter"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// maxListBytes is about how much JSON one page of jobs or runs has. The client gets the rest as further pages. A job or run that is
// larger has a page of its own.
const maxListBytes = 4 << 20

// maxListJobs is the largest number of jobs in a page.
const maxListJobs = 5000

// plainBytes is about the JSON of a job or run without its long texts.
const plainBytes = 700

// Bytes returns about how much JSON a job has in a list.
func (v *JobView) Bytes() int {
	size := plainBytes + v.Stored
	for _, run := range v.Active {
		size += len(run) + len(`"",`)
	}
	return size
}

// Selects reports whether q selects a job.
func (q ListQuery) Selects(j *job.Job) bool {
	return j.Name > q.After && (q.Accepts == nil || q.Accepts(j))
}

// Page returns the first of the selected jobs, as many as a page has room for and at least one. selected has them in order.
// more reports whether another page follows.
func (q ListQuery) Page(selected iter.Seq[JobView]) (page []JobView, more bool) {
	size := 0
	for v := range selected {
		if size += v.Bytes(); len(page) == maxListJobs || len(page) > 0 && size > q.Bytes {
			return page, true
		}
		page = append(page, v)
	}
	return page, false
}

// withinBytes returns how many of the first runs a page has room for, at least one.
func withinBytes(runs []RunView) int {
	size := 0
	for i := range runs {
		if size += bytesOf(&runs[i].Run); size > maxListBytes && i > 0 {
			return i
		}
	}
	return max(1, len(runs))
}

// bytesOf returns about how much JSON a run has in a list.
func bytesOf(r *job.Run) int {
	size := plainBytes + len(r.Reason) + len(r.Output) + len(r.Payload) + len(r.Attempts)*plainBytes/2
	for name, value := range r.Outputs {
		size += len(name) + len(value)
	}
	for name, value := range r.Params {
		size += len(name) + len(value)
	}
	for _, worker := range r.Copies {
		size += len(worker)
	}
	if r.Spec != nil { // of a command without a job that has not ended
		size += r.Spec.Size()
	}
	return size
}
