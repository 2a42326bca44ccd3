package send

import (
	"context"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/notify"
)

// lane is the queue of one notifier. Its fields are guarded by the desk's mu.
type lane struct {
	desk    *Desk
	to      target
	active  bool                 // a goroutine runs
	waiting []Item               // in the order of their coming
	counts  map[job.Occasion]int // those that found no place in waiting
	over    []func()             // what those have to be told when they are told
	sent    []time.Time          // when messages were sent within the last minute
}

// window is what PerMinute is counted in.
const window = time.Minute

// left is how many messages may be sent now.
func (l *lane) left(now time.Time) int {
	l.sent = slices.DeleteFunc(l.sent, func(at time.Time) bool { return now.Sub(at) >= window })
	return l.desk.cfg.PerMinute - len(l.sent)
}

// run sends until nothing waits, or ctx ends.
func (l *lane) run(ctx context.Context) {
	for {
		b, wait := l.take(time.Now())
		switch {
		case wait > 0:
			if !sleep(ctx, wait) {
				return
			}
		case b == nil:
			return
		case !l.deliver(ctx, b):
			return
		}
	}
}

// batch is what one message tells.
type batch struct {
	items   []Item
	summary *notify.Message // nil: of a single item
	over    []func()        // of notices that it counts and items does not have
}

// take removes from the queue what is to be sent next, or says for how long to wait before. nil: nothing waits, and the lane
// is at rest. The last message that is allowed sums up everything, and so does one when there are notices that were only counted.
func (l *lane) take(now time.Time) (b *batch, wait time.Duration) {
	d := l.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	n, left := len(l.waiting), l.left(now)
	switch {
	case n == 0:
		l.active = false
		return nil, 0
	case left <= 0:
		return nil, l.sent[0].Add(window).Sub(now)
	case len(l.over) == 0 && (left > 1 || n == 1):
		b = &batch{items: l.waiting[:1:1]}
		l.waiting = l.waiting[1:]
		return b, 0
	}
	b = &batch{items: l.waiting, over: l.over}
	var lines []string
	for _, it := range l.waiting {
		l.counts[it.Occasion]++
		lines = append(lines, it.Line)
	}
	m := notify.Summary(l.counts, lines)
	b.summary = &m
	l.waiting, l.over = nil, nil
	clear(l.counts)
	return b, 0
}

// deliver sends b until it arrives, or is given up. false means that ctx has ended.
func (l *lane) deliver(ctx context.Context, b *batch) bool {
	d, pause := l.desk, l.desk.cfg.MinPause
	for began := time.Now(); ; {
		err := l.send(ctx, b)
		switch {
		case ctx.Err() != nil:
			return false
		case err == nil:
			l.noteSent()
			if b.summary != nil {
				d.count(l.to.name, Summed, b.count())
			} else {
				d.count(l.to.name, Sent, 1)
			}
			b.done()
			return true
		case time.Since(began) >= d.cfg.GiveUp:
			d.log.Error("notification was given up", "notifier", l.to.name, "err", err, "notices", b.count(), "first", b.items[0].Line)
			d.count(l.to.name, Failed, b.count())
			b.done()
			return true
		}
		d.log.Warn("notification was not sent, it is repeated", "notifier", l.to.name, "err", err, "pause", pause)
		d.count(l.to.name, Repeated, 1)
		if !sleep(ctx, pause) {
			return false
		}
		pause = min(2*pause, d.cfg.MaxPause)
	}
}

// send sends b once.
func (l *lane) send(ctx context.Context, b *batch) error {
	d := l.desk
	select {
	case d.sending <- struct{}{}:
		defer func() { <-d.sending }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, d.cfg.Deadline)
	defer cancel()
	if b.summary != nil {
		return d.sender.Send(ctx, l.to.url, *b.summary)
	}
	return d.sender.Send(ctx, l.to.url, b.items[0].Message(ctx))
}

func (l *lane) noteSent() {
	l.desk.mu.Lock()
	defer l.desk.mu.Unlock()
	l.sent = append(l.sent, time.Now())
}

// count is how many notices it tells.
func (b *batch) count() int { return len(b.items) + len(b.over) }

func (b *batch) done() {
	for _, it := range b.items {
		it.Done()
	}
	for _, done := range b.over {
		done()
	}
}

// sleep waits for d, and says whether ctx has not ended meanwhile.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
