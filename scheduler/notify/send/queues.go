package send

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/notify"
)

// Sender delivers one message to a URL. It returns at the latest when ctx ends. Its errors contain no secrets. A *Refusal concerns
// this message.
type Sender interface {
	Send(ctx context.Context, url string, m notify.Message) error
}

// Refusal says that the target refuses a message, and may accept others. An example is a template that makes no JSON of one reason.
type Refusal struct{ Text string }

func (e *Refusal) Error() string { return e.Text }

// Observer counts the outcomes of notices. Several goroutines call its method.
type Observer interface {
	// Notified adds n notices with an outcome of Sent, Summed, Repeated, Failed or Dropped.
	Notified(notifier, outcome string, n int)
}

// The outcomes of notices.
const (
	Sent     = "sent"
	Summed   = "summed"   // sent in a summary of many
	Repeated = "repeated" // a sending failed and is repeated
	Failed   = "failed"   // given up
	Dropped  = "dropped"  // replaced by later ones, without Config.Summaries
)

// Config is the pace of Queues.
type Config struct {
	PerMinute          int           // the largest number of messages to one notifier in a minute
	Deadline           time.Duration // the time limit of one sending
	GiveUp             time.Duration // how long a message is repeated
	MinPause, MaxPause time.Duration // the shortest and the longest pause between two sendings of a message
	MaxWaiting         int           // notices that wait for one notifier; with Summaries only Item.Done of further ones is kept
	Summaries          bool          // sum up what PerMinute delays; otherwise, beyond MaxWaiting the oldest notices are dropped
	MaxConcurrent      int           // the largest number of sendings under way, to all notifiers
}

// DefaultConfig returns a pace at which people can read the messages.
func DefaultConfig() Config {
	return Config{
		PerMinute: 10, Deadline: 15 * time.Second, GiveUp: time.Hour, MinPause: time.Second, MaxPause: time.Minute,
		MaxWaiting: 10_000, MaxConcurrent: 16, Summaries: true,
	}
}

// PingConfig returns a pace for pings. Only the latest ones matter, because each run that ends sends a further one.
func PingConfig() Config {
	return Config{
		PerMinute: 60, Deadline: 10 * time.Second, GiveUp: time.Hour, MinPause: time.Second, MaxPause: time.Minute,
		MaxWaiting: 20, MaxConcurrent: 16,
	}
}

// Item is one notice for one notifier.
type Item struct {
	Occasion job.Occasion
	Template string                                   // as in notify.Target
	Line     string                                   // its line in a summary
	Message  func(ctx context.Context) notify.Message // returns its text outside a summary; called for each sending
	Done     func()                                   // called once, from any goroutine, when the notice was sent or given up

	began time.Time // when it was first sent; zero: it was not
}

// Queues holds the queues of all notifiers for one term.
type Queues struct {
	cfg     Config
	sender  Sender
	observe Observer
	log     hclog.Logger
	sending chan struct{} // holds a token for each sending under way
	wg      sync.WaitGroup

	mu     sync.Mutex
	queues map[target]*queue // guarded by mu
}

// target identifies a queue. Jobs may have different notifiers of the same name.
type target struct{ name, url, template string }

// NewQueues returns queues that deliver through sender. observe may be nil.
func NewQueues(cfg Config, sender Sender, observe Observer, log hclog.Logger) *Queues {
	return &Queues{
		cfg: cfg, sender: sender, observe: observe, log: log,
		sending: make(chan struct{}, cfg.MaxConcurrent), queues: make(map[target]*queue),
	}
}

// maxQueues is the number of queues above which Post removes idle queues.
const maxQueues = 1000

// Post queues an item for the notifier called name at url. Sending stops when ctx ends; Done is not called for the items that
// are left.
func (qs *Queues) Post(ctx context.Context, name, url string, it Item) {
	to := target{name, url, it.Template}
	qs.mu.Lock()
	defer qs.mu.Unlock()
	q := qs.queues[to]
	if q == nil {
		if len(qs.queues) >= maxQueues {
			qs.removeIdleLocked(time.Now())
		}
		q = &queue{queues: qs, to: to, counts: make(map[job.Occasion]int)}
		qs.queues[to] = q
	}
	if full := len(q.waiting) >= qs.cfg.MaxWaiting; full && !qs.cfg.Summaries {
		q.dropped = append(q.dropped, q.waiting[0].Done)
		q.waiting = append(q.waiting[1:], it)
		qs.count(name, Dropped, 1)
	} else if full {
		q.counts[it.Occasion]++
		q.counted = append(q.counted, it.Done)
	} else {
		q.waiting = append(q.waiting, it)
	}
	if !q.active {
		q.active = true
		qs.wg.Go(func() { q.run(ctx) })
	}
}

// removeIdleLocked removes the empty queues that have sent nothing in the last minute. Nothing about them must be remembered.
// qs.mu is held.
func (qs *Queues) removeIdleLocked(now time.Time) {
	for to, q := range qs.queues {
		if !q.active && q.budget(now) == qs.cfg.PerMinute {
			delete(qs.queues, to)
		}
	}
}

// Wait waits until no sending is under way. Before that, the contexts of all Posts must have ended.
func (qs *Queues) Wait() { qs.wg.Wait() }

func (qs *Queues) count(name, outcome string, n int) {
	if qs.observe != nil && n > 0 {
		qs.observe.Notified(name, outcome, n)
	}
}
