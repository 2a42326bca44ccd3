package worker

import (
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/rota-scheduler/rota/scheduler/executor/output"
)

const (
	// removeDelay is how long a removal waits for other changes, so that they share one sync.
	removeDelay = time.Second
	// commitInterval is the least time from one commit to the next. Under load, more outcomes share the pages of a commit.
	commitInterval = 10 * time.Millisecond
	// journalBatch is the largest number of changes in one sync.
	journalBatch = 1024
)

// change puts value at key, or removes key where value is nil.
type change struct {
	key   string
	value []byte
}

// batch is a group of changes that share a sync.
type batch struct {
	changes []change      // guarded by Journal.mu until the writer takes the batch
	timeout *time.Timer   // guarded by Journal.mu: ends the wait; nil: no caller waits for the batch
	began   time.Time     // when the first change was queued
	ended   sync.Once     // sets err
	done    chan struct{} // closed when err is set
	err     error         // result of the commit, or output.ErrNoAnswer after journalTimeout
}

// wait returns when the batch is on disk, or output.ErrNoAnswer after journalTimeout.
func (b *batch) wait() error {
	<-b.done
	return b.err
}

// end ends the wait for the batch. Only the first call has an effect.
func (b *batch) end(err error) {
	b.ended.Do(func() {
		b.err = err
		close(b.done)
	})
}

// enqueue queues c and returns its batch. If awaited is true, the caller waits for the batch. enqueue itself never waits. The
// queue stays bounded, since the worker accepts no runs while the disk does not answer.
func (j *Journal) enqueue(c change, awaited bool) (*batch, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil, errJournalClosed
	}
	if n := len(j.queue); n == 0 || len(j.queue[n-1].changes) == journalBatch {
		j.queue = append(j.queue, &batch{began: time.Now(), done: make(chan struct{})})
		wake(j.wake)
	}
	b := j.queue[len(j.queue)-1]
	b.changes = append(b.changes, c)
	if awaited && b.timeout == nil {
		b.timeout = time.AfterFunc(journalTimeout, func() { b.end(output.ErrNoAnswer) })
		wake(j.wake)
	}
	return b, nil
}

// write writes batches until the journal is closed. It is the journal's goroutine.
func (j *Journal) write() {
	defer close(j.done)
	var last time.Time // the time of the last commit
	timer := time.NewTimer(removeDelay)
	defer timer.Stop()
	for {
		wait, over := j.nextWrite()
		switch {
		case over:
			return
		case wait > 0:
			timer.Reset(wait)
			select {
			case <-j.wake:
			case <-timer.C:
			}
		default:
			time.Sleep(commitInterval - time.Since(last)) // changes that are queued meanwhile join the batch
			j.commit(j.take())
			last = time.Now()
		}
	}
}

// nextWrite returns how long the first batch may wait. over means that there is no batch and the journal is closed. Removals
// wait for other changes, since no caller waits for a removal.
func (j *Journal) nextWrite() (wait time.Duration, over bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case len(j.queue) == 0:
		return removeDelay, j.closed
	case j.closed, len(j.queue) > 1, j.queue[0].timeout != nil:
		return 0, false
	}
	return time.Until(j.queue[0].began.Add(removeDelay)), false
}

// take removes the first batch from the queue.
func (j *Journal) take() *batch {
	j.mu.Lock()
	defer j.mu.Unlock()
	b := j.queue[0]
	j.queue = j.queue[1:]
	return b
}

// commit writes the changes to disk and wakes the callers that wait for them.
func (j *Journal) commit(b *batch) {
	err := j.db.Update(func(tx *bolt.Tx) error {
		outcomes := tx.Bucket(outcomesBucket)
		var key []byte // bbolt copies the keys that it keeps
		for _, c := range b.changes {
			key = append(key[:0], c.key...)
			if err := c.apply(outcomes, key); err != nil {
				return err
			}
		}
		return nil
	})
	if b.timeout != nil {
		b.timeout.Stop()
	}
	b.end(err)
}

func (c *change) apply(b *bolt.Bucket, key []byte) error {
	if c.value == nil {
		return b.Delete(key)
	}
	return b.Put(key, c.value)
}
