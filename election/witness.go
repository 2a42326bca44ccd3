package election

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// WitnessConfig says which election is watched, and by whom.
type WitnessConfig struct {
	Prefix string // of the election
	Name   string // the candidate that watches: it does not watch itself
	Limit  string // key that is there, on a lease, for a while after each forced takeover, so that terms do not flap
	// Signs are prefixes under which each process has a leased key of its candidate's name, as a sign of life. Those of the
	// dead process are removed with its term, but not those of another one that has begun under its name since.
	Signs []string
	// Await is AwaitDeath, unless a simulation owns the network.
	Await func(ctx context.Context, addr string) bool
	// Answers is whether somebody listens at an address: Listens, unless a simulation owns the network.
	Answers func(ctx context.Context, addr string) bool
}

// The pace of a Witness.
const (
	witnessPoll  = time.Second            // how often it looks whether another one leads
	witnessPause = 250 * time.Millisecond // after a look that showed nobody to watch, or a connection that could not be had
	limitTTL     = 3                      // seconds between two forced takeovers in the whole cluster
	endTimeout   = 3 * time.Second        // of one takeover, before it is asked anew whether it is still due
	limitPoll    = 100 * time.Millisecond // how often it asks whether the next takeover may be
)

// Witness ends the term of a leader whose process is proven dead, so that nobody has to wait for its lease.
//
// Safety does not rest on the proof: the term is ended by a transaction that deletes the leader's key if it is still the
// one that was watched, and every write of the old leader, dead or not, compares that key. A wrong proof costs a change of
// leader, and no more than one in limitTTL seconds.
type Witness struct {
	cfg    WitnessConfig
	client *clientv3.Client
	log    hclog.Logger
}

// NewWitness returns a witness that starts nothing.
func NewWitness(cfg WitnessConfig, client *clientv3.Client, log hclog.Logger) *Witness {
	if cfg.Await == nil {
		cfg.Await = AwaitDeath
	}
	if cfg.Answers == nil {
		cfg.Answers = Listens
	}
	return &Witness{cfg: cfg, client: client, log: log}
}

// Run watches whoever leads until ctx ends, and returns nil.
func (w *Witness) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		h, ok, err := Leader(ctx, w.client, w.cfg.Prefix)
		if err != nil || !ok {
			wait(ctx, witnessPause)
			continue
		}
		if signs, dead := w.attend(ctx, h); dead {
			w.end(ctx, h, signs)
		}
	}
	return nil
}

// watches says whether the death of h can be proven here: we know where it answers, and it is not ourselves.
func (w *Witness) watches(h Holder) bool {
	return h.Candidate.Addr != "" && h.Candidate.Node != w.cfg.Name
}

// signs are the leases on which the signs of life of one process are, by key.
type signs map[string]int64

// attend returns true when the leader h is proven dead, with the signs of life that it had; and false when its term is over,
// or ctx is. Of one that is not watched it waits for the term's end.
func (w *Witness) attend(ctx context.Context, h Holder) (signs, bool) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	alive := w.look(ctx, h, nil)
	dead, over := make(chan struct{}), make(chan struct{})
	if w.watches(h) {
		wg.Go(func() {
			for ctx.Err() == nil {
				if w.cfg.Await(ctx, h.Candidate.Addr) {
					close(dead)
					return
				}
				wait(ctx, witnessPause)
			}
		})
	}
	wg.Go(func() { // the next leader may die soon, and its death is proven to those alone who have a connection by then
		if awaitDeletion(ctx, w.client, h.Term, witnessPoll) {
			close(over)
		}
	})
	poll := time.NewTicker(witnessPoll)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, false
		case <-dead:
			return alive, true
		case <-over:
			return nil, false
		case <-poll.C:
		}
		now, ok, err := Leader(ctx, w.client, w.cfg.Prefix)
		if err == nil && (!ok || now.Term.Rev != h.Term.Rev) { // the watch may be deaf
			return nil, false
		}
		seen := w.look(ctx, h, alive)
		select {
		case <-dead: // and what was seen may be of the next process
			return alive, true
		default:
			alive = seen
		}
	}
}

// look reads the signs of life of h. What cannot be read is as it was before; what never could be is left to its lease.
func (w *Witness) look(ctx context.Context, h Holder, before signs) signs {
	if !w.watches(h) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	seen := make(signs)
	for _, prefix := range w.cfg.Signs {
		key := prefix + h.Candidate.Node
		resp, err := w.client.Get(ctx, key)
		switch lease, known := before[key]; {
		case err == nil && len(resp.Kvs) == 1 && resp.Kvs[0].Lease != 0:
			seen[key] = resp.Kvs[0].Lease
		case err != nil && known:
			seen[key] = lease
		}
	}
	return seen
}

// verdict is what came of trying to end a term.
type verdict int

const (
	ended   verdict = iota // by us
	over                   // without us
	refused                // another takeover was forced just now
)

// end deletes the key of a dead leader, unless it has ended already. If etcd does not answer, which may be as dead as the
// leader was, or another takeover was forced just now, it tries again when that has changed, as long as nobody answers in the
// dead one's place: who is dead cannot be proven dead another time.
func (w *Witness) end(ctx context.Context, h Holder, alive signs) {
	log := w.log.With("leader", h.Candidate.Node, "term", h.Term.Rev)
	for told := false; ctx.Err() == nil; told = true {
		switch v, err := w.force(ctx, h, alive); {
		case err == nil && v == ended:
			log.Warn("the leader's process is dead, its term was ended")
			return
		case err == nil && v == over:
			log.Debug("the dead leader's term was not ended here")
			return
		case told:
		case err != nil:
			log.Info("the leader's process is dead, but etcd does not take the end of its term yet", "err", err)
		default:
			log.Info("the leader's process is dead, but another takeover was forced just now")
		}
		if !w.mayForce(ctx, h) || w.cfg.Answers(ctx, h.Candidate.Addr) {
			log.Debug("the dead leader's term is over, or somebody answers in its place")
			return
		}
	}
}

// force tries to end the term of h until etcd says what came of it, but not for long. After an error that is not known.
func (w *Witness) force(ctx context.Context, h Holder, alive signs) (v verdict, err error) {
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	note, err := json.Marshal(map[string]any{"dead": h.Candidate.Node, "term": h.Term.Rev, "by": w.cfg.Name})
	if err != nil {
		return over, fmt.Errorf("encode the note of a takeover: %w", err)
	}
	for {
		if v, err = w.tryEnd(ctx, h, alive, string(note)); err == nil || ctx.Err() != nil {
			return v, err
		}
		wait(ctx, refusalPause) // etcd may be electing; the same transaction again does no harm
	}
}

func (w *Witness) tryEnd(ctx context.Context, h Holder, alive signs, note string) (verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	lease, err := w.client.Grant(ctx, limitTTL)
	if err != nil {
		return over, fmt.Errorf("grant lease: %w", err)
	}
	then := []clientv3.Op{
		clientv3.OpDelete(h.Term.Key),
		clientv3.OpPut(w.cfg.Limit, note, clientv3.WithLease(lease.ID)),
	}
	for key, lease := range alive {
		still := clientv3.Compare(clientv3.LeaseValue(key), "=", lease)
		then = append(then, clientv3.OpTxn([]clientv3.Cmp{still}, []clientv3.Op{clientv3.OpDelete(key)}, nil))
	}
	resp, err := w.client.Txn(ctx).If(h.Term.Held()).Then(
		clientv3.OpTxn([]clientv3.Cmp{w.unlimited()}, then, nil),
	).Commit()
	switch {
	case err != nil:
		return over, fmt.Errorf("end term %d: %w", h.Term.Rev, err)
	case !resp.Succeeded:
		return over, nil
	case !resp.Responses[0].GetResponseTxn().Succeeded:
		return refused, nil
	}
	return ended, nil
}

// unlimited holds when a takeover may be forced: Limit is not there, or has no lease. That one would stay for ever, and only
// somebody's hand can have put it there.
func (w *Witness) unlimited() clientv3.Cmp {
	return clientv3.Compare(clientv3.LeaseValue(w.cfg.Limit), "=", 0)
}

// mayForce waits until a takeover may be forced, and returns true if the term of h still stands then. It asks for no longer
// than that: at the latest the lease ends it.
func (w *Witness) mayForce(ctx context.Context, h Holder) bool {
	for ctx.Err() == nil {
		wait(ctx, limitPoll)
		asking, cancel := context.WithTimeout(ctx, requestTimeout)
		resp, err := w.client.Txn(asking).If(h.Term.Held()).Then(
			clientv3.OpTxn([]clientv3.Cmp{w.unlimited()}, nil, nil),
		).Commit()
		cancel()
		switch {
		case err != nil: // it may answer the next time
		case !resp.Succeeded:
			return false
		case resp.Responses[0].GetResponseTxn().Succeeded:
			return true
		}
	}
	return false
}
