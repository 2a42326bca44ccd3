package executor

import (
	"context"
	"sync"
	"time"
)

// Files bounds the reading of the files that jobs name. While a file server is gone, the kernel holds up each of its readers, and
// no timeout ends that. The zero value is ready to use.
type Files struct {
	mu   sync.Mutex
	left map[string]int // guarded by mu: the reads that were left behind and have not returned, by job
	all  int            // guarded by mu: their number
}

const (
	// maxLeft and maxLeftOfAJob bound the reads that were left behind, since each of them occupies a thread.
	maxLeft       = 256
	maxLeftOfAJob = 4
	filesPoll     = 100 * time.Millisecond
)

// FilesHang completes the reason of an attempt that was ended before its files were read.
const FilesHang = ", while the worker waited for the files that the job names"

// ReadFiles calls read, which reads files of a job and begins nothing. It returns false if ctx ends first. Then it leaves read
// behind, and nothing that read uses may be changed. If many reads were left behind, it waits until one of them returns.
func ReadFiles[T any](ctx context.Context, f *Files, jobName string, read func() T) (result T, ok bool) {
	for f.full(jobName) {
		select {
		case <-time.After(filesPoll):
		case <-ctx.Done():
			return result, false
		}
	}
	done := make(chan T, 1)
	returned := func() {}
	go func() { // the select waits for it, except for a file server that hangs
		done <- read()
		f.mu.Lock()
		defer f.mu.Unlock()
		returned()
	}()
	select {
	case result = <-done:
		return result, true
	case <-ctx.Done():
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case result = <-done: // both happened
		return result, true
	default:
	}
	f.count(jobName, 1)
	returned = func() { f.count(jobName, -1) }
	return result, false
}

// full reports whether no further read of a job may begin.
func (f *Files) full(jobName string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.all >= maxLeft || f.left[jobName] >= maxLeftOfAJob
}

// count adds d to the reads of a job that were left behind. f.mu is held.
func (f *Files) count(jobName string, d int) {
	if f.left == nil {
		f.left = make(map[string]int)
	}
	f.all += d
	if f.left[jobName] += d; f.left[jobName] == 0 {
		delete(f.left, jobName)
	}
}
