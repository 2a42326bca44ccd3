package send

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/notify"
)

// queue is the queue of one notifier. Its fields are guarded by Queues.mu.
type queue struct {
	queues   *Queues
	to       target
	active   bool                 // a goroutine runs
	waiting  []Item               // in the order of their posting
	counts   map[job.Occasion]int // items beyond MaxWaiting
	counted  []func()             // the Done functions of these items
	dropped  []func()             // the Done functions of items that were dropped and have to be done
	sent     []time.Time          // when messages of the last minute were sent
	failing  job.Undelivered      // zero if the last sending succeeded
	failures int                  // sendings in a row that failed
	pause    time.Duration        // the pause after the last sending; 0: it succeeded or was given up. Used only by run
}

// window is the period to which the limit PerMinute applies.
const window = time.Minute

// budget returns how many messages may be sent now.
func (q *queue) budget(now time.Time) int {
	q.sent = slices.DeleteFunc(q.sent, func(at time.Time) bool { return now.Sub(at) >= window })
	return q.queues.cfg.PerMinute - len(q.sent)
}

// run sends until the queue is empty or ctx ends.
func (q *queue) run(ctx context.Context) {
	for {
		for _, done := range q.takeDropped() {
			done()
		}
		b, wait := q.take(time.Now())
		switch {
		case wait > 0:
			if !sleep(ctx, wait) {
				return
			}
		case b == nil:
			return
		case !q.deliver(ctx, b):
			return
		}
	}
}

// batch holds the notices that one message reports.
type batch struct {
	items   []Item
	summary *notify.Message // nil: the message is that of the only item
	counted []func()        // the Done functions of notices that are counted but not in items
	began   time.Time       // when it was first sent
}

// take removes the next batch from the queue, or returns how long to wait for it. If it returns a nil batch and no wait, the
// queue is empty and no longer active. The last message of the budget is a summary of all waiting items. A message is also a
// summary if some items were only counted.
func (q *queue) take(now time.Time) (b *batch, wait time.Duration) {
	q.queues.mu.Lock()
	defer q.queues.mu.Unlock()
	n, budget := len(q.waiting), q.budget(now)
	switch {
	case n == 0:
		q.active = false
		return nil, 0
	case budget <= 0:
		return nil, q.sent[0].Add(window).Sub(now)
	case !q.queues.cfg.Summaries, len(q.counted) == 0 && (budget > 1 || n == 1):
		b = &batch{items: q.waiting[:1:1], began: q.waiting[0].began}
		q.waiting = q.waiting[1:]
		return b, 0
	}
	b = &batch{items: q.waiting, counted: q.counted}
	var lines []string
	for _, it := range q.waiting {
		q.counts[it.Occasion]++
		lines = append(lines, it.Line)
	}
	m := notify.Summary(q.counts, lines)
	b.summary = &m
	q.waiting, q.counted = nil, nil
	clear(q.counts)
	return b, 0
}

func (q *queue) takeDropped() []func() {
	q.queues.mu.Lock()
	defer q.queues.mu.Unlock()
	list := q.dropped
	q.dropped = nil
	return list
}

// deliver sends b until it arrives, the time Config.GiveUp has passed, or it is postponed. It returns false if ctx has ended.
func (q *queue) deliver(ctx context.Context, b *batch) bool {
	qs := q.queues
	if b.began.IsZero() {
		b.began = time.Now()
	}
	for {
		err := q.send(ctx, b)
		switch {
		case ctx.Err() != nil:
			return false
		case err == nil:
			q.pause = 0
			q.recordSent()
			if b.summary != nil {
				qs.count(q.to.name, Summed, b.size())
			} else {
				qs.count(q.to.name, Sent, 1)
			}
			b.done()
			return true
		case time.Since(b.began) >= qs.cfg.GiveUp:
			q.pause = 0
			q.failed(time.Now(), err, true)
			qs.log.Error("notification was given up", "notifier", q.to.name, "err", err, "notices", b.size(), "first", b.items[0].Line)
			qs.count(q.to.name, Failed, b.size())
			b.done()
			return true
		}
		q.pause = min(max(2*q.pause, qs.cfg.MinPause), qs.cfg.MaxPause)
		q.failed(time.Now(), err, false)
		qs.log.Warn("notification was not sent and will be repeated", "notifier", q.to.name, "err", err, "pause", q.pause.String())
		qs.count(q.to.name, Repeated, 1)
		if !sleep(ctx, q.pause) {
			return false
		}
		if q.postpone(b, err) {
			return true
		}
	}
}

// postpone puts a message that its target refuses behind those that wait, so that it does not hold them up.
func (q *queue) postpone(b *batch, err error) bool {
	q.queues.mu.Lock()
	defer q.queues.mu.Unlock()
	if _, refused := errors.AsType[*Refusal](err); !refused || b.summary != nil || len(q.waiting) == 0 {
		return false
	}
	it := b.items[0]
	it.began = b.began
	q.waiting = append(q.waiting, it)
	return true
}

// send sends b once.
func (q *queue) send(ctx context.Context, b *batch) error {
	select {
	case q.queues.sending <- struct{}{}:
		defer func() { <-q.queues.sending }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, q.queues.cfg.Deadline)
	defer cancel()
	var m notify.Message
	if b.summary != nil {
		m = *b.summary
	} else {
		m = b.items[0].Message(ctx)
	}
	m.Template = q.to.template
	return q.queues.sender.Send(ctx, q.to.url, m)
}

func (q *queue) recordSent() {
	q.queues.mu.Lock()
	defer q.queues.mu.Unlock()
	q.sent = append(q.sent, time.Now())
	q.arrivedLocked()
}

// size returns how many notices the batch reports.
func (b *batch) size() int { return len(b.items) + len(b.counted) }

func (b *batch) done() {
	for _, it := range b.items {
		it.Done()
	}
	for _, done := range b.counted {
		done()
	}
}

// sleep waits for d. It returns false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
