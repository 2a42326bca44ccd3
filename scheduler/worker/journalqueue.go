package worker

import (
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/rota-scheduler/rota/scheduler/executor/output"
)

const (
	// forgetDelay is how long a removal waits for a sync to share.
	forgetDelay = time.Second
	// journalPace is the least time from one commit to the next: under load, more outcomes share the pages that each writes.
	journalPace = 4 * time.Millisecond
	// journalBatch is how many changes share one sync at most.
	journalBatch = 1024
)

// change puts value at key, or removes key where value is nil.
type change struct{ key, value []byte }

// batch is changes that share a sync.
type batch struct {
	changes  []change      // guarded by Journal.mu until it is taken
	patience *time.Timer   // likewise: closes late; nil: nobody waits
	began    time.Time     // when the first change came
	late     chan struct{} // closed when whoever waits has waited for long enough
	done     chan struct{} // closed when err says what has become of the changes
	err      error
}

// wait waits for the batch to be on disk, no longer than journalPatience: output.ErrNoAnswer.
func (b *batch) wait() error {
	select {
	case <-b.done:
		return b.err
	case <-b.late:
		return output.ErrNoAnswer
	}
}

// send queues c, and returns the batch that it is in, which the caller waits for if it is awaited. It never waits itself: while
// the disk does not answer, the worker takes nothing new, which bounds the queue.
func (j *Journal) send(c change, awaited bool) (*batch, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil, errJournalClosed
	}
	if n := len(j.queue); n == 0 || len(j.queue[n-1].changes) == journalBatch {
		j.queue = append(j.queue, &batch{began: time.Now(), late: make(chan struct{}), done: make(chan struct{})})
		j.nudge()
	}
	b := j.queue[len(j.queue)-1]
	b.changes = append(b.changes, c)
	if awaited && b.patience == nil {
		b.patience = time.AfterFunc(journalPatience, func() { close(b.late) })
		j.nudge()
	}
	return b, nil
}

// nudge has the writer look at the queue.
func (j *Journal) nudge() {
	select {
	case j.wake <- struct{}{}:
	default: // it will
	}
}

// write is the journal's goroutine. It ends when the journal is closed.
func (j *Journal) write() {
	defer close(j.done)
	var last time.Time // commit
	timer := time.NewTimer(forgetDelay)
	defer timer.Stop()
	for {
		wait, over := j.due()
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
			time.Sleep(journalPace - time.Since(last)) // what comes meanwhile is in the same batch
			j.commit(j.take())
			last = time.Now()
		}
	}
}

// due says how long the first batch may wait, and whether there never is one again. A removal waits for company, since nobody
// waits for it.
func (j *Journal) due() (wait time.Duration, over bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case len(j.queue) == 0:
		return forgetDelay, j.closed
	case j.closed, len(j.queue) > 1, j.queue[0].patience != nil:
		return 0, false
	}
	return time.Until(j.queue[0].began.Add(forgetDelay)), false
}

// take takes the first batch.
func (j *Journal) take() *batch {
	j.mu.Lock()
	defer j.mu.Unlock()
	b := j.queue[0]
	j.queue = j.queue[1:]
	return b
}

// commit makes the changes durable, and tells those who wait for them.
func (j *Journal) commit(b *batch) {
	b.err = j.db.Update(func(tx *bolt.Tx) error {
		outcomes := tx.Bucket(outcomesBucket)
		for _, c := range b.changes {
			if err := c.apply(outcomes); err != nil {
				return err
			}
		}
		return nil
	})
	if b.patience != nil {
		b.patience.Stop()
	}
	close(b.done)
}

func (c *change) apply(b *bolt.Bucket) error {
	if c.value == nil {
		return b.Delete(c.key)
	}
	return b.Put(c.key, c.value)
}
