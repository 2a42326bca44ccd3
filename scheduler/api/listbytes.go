package api

import "github.com/rota-scheduler/rota/scheduler/job"

// maxListBytes is about how much JSON one page of jobs or runs has. The client gets the rest as further pages. A job or run that is
// larger has a page of its own.
const maxListBytes = 4 << 20

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
