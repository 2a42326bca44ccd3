package send

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/notify"
)

// Sender delivers one message to where url leads. It returns when ctx ends, if not before. Its errors name no secret.
type Sender interface {
	Send(ctx context.Context, url string, m notify.Message) error
}

// Observer is told what became of notices. Its method is called from several goroutines.
type Observer interface {
	// Notified counts n notices of a notifier by what became of them: Sent, Summed, Repeated or Failed.
	Notified(notifier, outcome string, n int)
}

// What becomes of notices.
const (
	Sent     = "sent"
	Summed   = "summed"   // sent within a summary of many
	Repeated = "repeated" // a sending failed, and comes again
	Failed   = "failed"   // given up
)

// Config says at what pace a Desk works.
type Config struct {
	PerMinute          int           // messages to one notifier
	Deadline           time.Duration // of one sending
	GiveUp             time.Duration // for how long a message is repeated
	MinPause, MaxPause time.Duration // between two sendings of it
	Waiting            int           // notices that wait for one notifier; those beyond it are only counted
	AtOnce             int           // sendings under way, to all notifiers
}

// DefaultConfig is for people, who read what is sent.
func DefaultConfig() Config {
	return Config{
		PerMinute: 10, Deadline: 15 * time.Second, GiveUp: time.Hour, MinPause: time.Second, MaxPause: time.Minute,
		Waiting: 10_000, AtOnce: 16,
	}
}

// Item is one notice for one notifier.
type Item struct {
	Occasion job.Occasion
	Line     string                                   // in a summary
	Message  func(ctx context.Context) notify.Message // alone; called when it is sent
	Done     func()                                   // called once, from any goroutine, when it was told or given up on
}

// Desk is the queues of all notifiers, for one term.
type Desk struct {
	cfg     Config
	sender  Sender
	observe Observer
	log     hclog.Logger
	sending chan struct{} // holds a token for each sending under way
	wg      sync.WaitGroup

	mu    sync.Mutex
	lanes map[target]*lane // guarded by mu
}

// target is where a lane leads. Jobs may know different notifiers by one name.
type target struct{ name, url string }

// NewDesk returns a desk that sends by way of sender. observe may be nil.
func NewDesk(cfg Config, sender Sender, observe Observer, log hclog.Logger) *Desk {
	return &Desk{
		cfg: cfg, sender: sender, observe: observe, log: log,
		sending: make(chan struct{}, cfg.AtOnce), lanes: make(map[target]*lane),
	}
}

// maxLanes is from how many lanes on those that are at rest are removed.
const maxLanes = 1000

// Post queues an item for the notifier called name at url. It is sent until ctx ends: then what was not is not Done.
func (d *Desk) Post(ctx context.Context, name, url string, it Item) {
	to := target{name, url}
	d.mu.Lock()
	l := d.lanes[to]
	if l == nil {
		if len(d.lanes) >= maxLanes {
			d.sweepLocked(time.Now())
		}
		l = &lane{desk: d, to: to, counts: make(map[job.Occasion]int)}
		d.lanes[to] = l
	}
	if len(l.waiting) >= d.cfg.Waiting {
		l.counts[it.Occasion]++
		l.over = append(l.over, it.Done)
	} else {
		l.waiting = append(l.waiting, it)
	}
	if !l.active {
		l.active = true
		d.wg.Go(func() { l.run(ctx) })
	}
	d.mu.Unlock()
}

// sweepLocked forgets the lanes that nothing waits in, and whose pace is not to be kept.
func (d *Desk) sweepLocked(now time.Time) {
	for to, l := range d.lanes {
		if !l.active && l.left(now) == d.cfg.PerMinute {
			delete(d.lanes, to)
		}
	}
}

// Wait returns when nothing is under way any more, after the context of all Posts has ended.
func (d *Desk) Wait() { d.wg.Wait() }

func (d *Desk) count(name, outcome string, n int) {
	if d.observe != nil && n > 0 {
		d.observe.Notified(name, outcome, n)
	}
}
