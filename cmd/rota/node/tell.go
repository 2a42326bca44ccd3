package node

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/notify"
	"github.com/rota-scheduler/rota/scheduler/notify/send"
)

var _ send.Observer = (*metrics)(nil)

// teller tells, for one term, what is to be told about jobs. It goes on from what earlier leaders have written down, and
// holds up nothing else.
type teller struct {
	node   *Node
	term   election.Term
	book   *notify.Book // owned by run
	queues *send.Queues
	rest   time.Time // owned by run: nothing is written down before it, since the store refused something

	mu      sync.Mutex
	settled []*notify.Notice // guarded by mu
	marked  []marked         // guarded by mu
	ready   chan struct{}    // holds a token while one of them is not empty
}

// marked is what became of a record of what has been told.
type marked struct {
	told job.NotifyState
	rev  int64
	err  error
}

// tellRest is how long nothing is written down after the store refused something.
const tellRest = time.Second

// tell tells what is to be told until ctx ends. Everything that was in the store when the term was won has to be in the
// mirror.
func (n *Node) tell(ctx context.Context, term election.Term) {
	t := &teller{
		node: n, term: term, ready: make(chan struct{}, 1),
		queues: send.NewQueues(send.DefaultConfig(), n.services, n.metrics, n.log.Named("notify")),
	}
	t.run(ctx)
	t.queues.Wait()
}

func (t *teller) run(ctx context.Context) {
	tail, at := t.node.mirror.Tail()
	defer t.node.mirror.Unfeed(tail)
	t.book = notify.NewBook(at, func(name string) (*job.Job, *job.NotifyState) {
		j, _ := t.node.mirror.Job(name)
		return j, t.node.mirror.NotifyState(name)
	})
	if !t.open(ctx, at) {
		return
	}
	again := time.NewTimer(0)
	defer again.Stop()
	for ctx.Err() == nil {
		for _, c := range tail.Take() {
			t.book.Apply(c)
		}
		t.answers()
		for _, n := range t.book.Take() {
			t.post(ctx, n)
		}
		if wait := time.Until(t.rest); wait > 0 {
			again.Reset(wait)
		} else {
			t.mark(ctx)
		}
		select {
		case <-ctx.Done():
		case <-tail.Ready():
		case <-t.ready:
		case <-again.C:
		}
	}
}

// open begins the pages of all jobs of which somebody is told, as of a revision. false means that ctx has ended.
func (t *teller) open(ctx context.Context, at int64) bool {
	n := t.node
	jobs := make(map[string]bool)
	for _, name := range n.mirror.Notifying() {
		jobs[name] = true
	}
	if len(jobs) == 0 {
		return true
	}
	events := make(map[string][]*job.Event)
	for {
		list, err := n.store.EventsOf(ctx, jobs, at)
		if err == nil {
			for _, e := range list {
				events[e.Job] = append(events[e.Job], e)
			}
			break
		}
		if pause(ctx, tellRest); ctx.Err() != nil {
			return false
		}
		n.log.Warn("nobody is told of anything yet", "err", shortError(err))
	}
	for name := range jobs {
		if j, ok := n.mirror.Job(name); ok && len(j.Spec.Notify) > 0 {
			t.book.Open(j, n.mirror.NotifyState(name), n.mirror.Runs(name, nil), events[name])
		}
	}
	return true
}

// post has a notice sent to all whom it concerns.
func (t *teller) post(ctx context.Context, n *notify.Notice) {
	for _, to := range n.To {
		t.queues.Post(ctx, to.Name, to.URL, send.Item{
			Occasion: to.Occasion,
			Line:     n.Line(to.Occasion),
			Message: func(ctx context.Context) notify.Message {
				return n.Message(to.Occasion, t.output(ctx, n), t.node.address())
			},
			Done: func() {
				t.mu.Lock()
				t.settled = append(t.settled, n)
				t.mu.Unlock()
				t.wake()
			},
		})
	}
}

// outputTimeout bounds the wait for a run's output: a message goes without it if need be.
const outputTimeout = 2 * time.Second

// output is the tail of the output of the run that n tells of. The mirror does not keep it.
func (t *teller) output(ctx context.Context, n *notify.Notice) string {
	if n.Run == nil || !n.Run.State.Terminal() {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, outputTimeout)
	defer cancel()
	r, err := t.node.store.Run(ctx, n.Run.Job, n.Run.ID)
	if err != nil {
		return "" // gone from history, or the store does not answer
	}
	return r.Output
}

// mark writes down what has been told.
func (t *teller) mark(ctx context.Context) {
	list := t.book.Records(t.node.now())
	if len(list) == 0 {
		return
	}
	t.node.store.PutNotifyState(ctx, t.term, list, func(i int, rev int64, err error) {
		t.mu.Lock()
		t.marked = append(t.marked, marked{list[i], rev, err})
		t.mu.Unlock()
		t.wake()
	})
}

// answers takes over what was told and what was written down meanwhile.
func (t *teller) answers() {
	t.mu.Lock()
	settled, written := t.settled, t.marked
	t.settled, t.marked = nil, nil
	t.mu.Unlock()
	for _, n := range settled {
		t.book.Done(n)
	}
	for _, m := range written {
		t.book.Recorded(m.told, m.rev, m.err)
		if m.err != nil {
			t.rest = time.Now().Add(tellRest)
			t.node.log.Debug("what was told is not written down", "job", m.told.Job, "err", m.err)
		}
	}
}

func (t *teller) wake() {
	select {
	case t.ready <- struct{}{}:
	default:
	}
}

// address is where people reach the API of this replica; "" if only this machine does.
func (n *Node) address() string {
	host, _, err := net.SplitHostPort(n.set.HTTP.Advertise)
	if ip := net.ParseIP(host); err != nil || host == "localhost" || ip != nil && ip.IsLoopback() {
		return ""
	}
	if n.set.HTTP.TLS.Cert != "" {
		return "https://" + n.set.HTTP.Advertise
	}
	return "http://" + n.set.HTTP.Advertise
}
