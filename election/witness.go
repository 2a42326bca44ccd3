package election

import (
	"context"
	"encoding/json"
	"fmt"
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
}

// The pace of a Witness.
const (
	witnessPoll  = time.Second            // how often it looks whether another one leads
	witnessPause = 250 * time.Millisecond // after a look that showed nobody to watch
	limitTTL     = 3                      // seconds between two forced takeovers in the whole cluster
	endTimeout   = 3 * time.Second        // for the takeover itself, should etcd be electing too
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
	return &Witness{cfg: cfg, client: client, log: log}
}

// Run watches whoever leads until ctx ends, and returns nil.
func (w *Witness) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		h, ok, err := Leader(ctx, w.client, w.cfg.Prefix)
		if err != nil || !ok || h.Candidate.Addr == "" || h.Candidate.Node == w.cfg.Name {
			wait(ctx, witnessPause)
			continue
		}
		if signs, dead := w.attend(ctx, h); dead {
			w.end(ctx, h, signs)
			continue
		}
		wait(ctx, witnessPause)
	}
	return nil
}

// signs are the leases on which the signs of life of one process are, by key.
type signs map[string]int64

// attend returns true when the leader h is proven dead, with the signs of life that it had; and false when it may be gone
// from office, or the connection to it told nothing.
func (w *Witness) attend(ctx context.Context, h Holder) (signs, bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	alive := w.look(ctx, h)
	dead := make(chan bool, 1)
	go func() { dead <- w.cfg.Await(ctx, h.Candidate.Addr) }() // ends with ctx; awaited below
	poll := time.NewTicker(witnessPoll)
	defer poll.Stop()
	for {
		select {
		case d := <-dead:
			return alive, d
		case <-poll.C:
		}
		now, ok, err := Leader(ctx, w.client, w.cfg.Prefix)
		if err == nil && (!ok || now.Term != h.Term) {
			cancel()
			<-dead
			return nil, false
		}
		seen := w.look(ctx, h)
		select {
		case d := <-dead: // and what was seen may be of the next process
			return alive, d
		default:
			alive = seen
		}
	}
}

// look reads the signs of life of h. What cannot be read is left to its lease.
func (w *Witness) look(ctx context.Context, h Holder) signs {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	seen := make(signs)
	for _, prefix := range w.cfg.Signs {
		key := prefix + h.Candidate.Node
		if resp, err := w.client.Get(ctx, key); err == nil && len(resp.Kvs) == 1 && resp.Kvs[0].Lease != 0 {
			seen[key] = resp.Kvs[0].Lease
		}
	}
	return seen
}

// end deletes the key of a dead leader, unless it has ended already or another takeover was forced just now.
func (w *Witness) end(ctx context.Context, h Holder, alive signs) {
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	note, err := json.Marshal(map[string]any{"dead": h.Candidate.Node, "term": h.Term.Rev, "by": w.cfg.Name})
	if err != nil {
		return
	}
	for ctx.Err() == nil {
		ended, err := w.tryEnd(ctx, h, alive, string(note))
		switch {
		case err != nil: // etcd may be electing; the same transaction again does no harm
			wait(ctx, refusalPause)
		case ended:
			w.log.Warn("the leader's process is dead, its term was ended", "leader", h.Candidate.Node, "term", h.Term.Rev)
			return
		default:
			w.log.Debug("the dead leader's term was not ended here", "leader", h.Candidate.Node, "term", h.Term.Rev)
			return
		}
	}
}

func (w *Witness) tryEnd(ctx context.Context, h Holder, alive signs, note string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	lease, err := w.client.Grant(ctx, limitTTL)
	if err != nil {
		return false, fmt.Errorf("grant lease: %w", err)
	}
	then := []clientv3.Op{
		clientv3.OpDelete(h.Term.Key),
		clientv3.OpPut(w.cfg.Limit, note, clientv3.WithLease(lease.ID)),
	}
	for key, lease := range alive {
		still := clientv3.Compare(clientv3.LeaseValue(key), "=", lease)
		then = append(then, clientv3.OpTxn([]clientv3.Cmp{still}, []clientv3.Op{clientv3.OpDelete(key)}, nil))
	}
	resp, err := w.client.Txn(ctx).If(
		h.Term.Held(),
		clientv3.Compare(clientv3.CreateRevision(w.cfg.Limit), "=", 0),
	).Then(then...).Commit()
	if err != nil {
		return false, fmt.Errorf("end term %d: %w", h.Term.Rev, err)
	}
	return resp.Succeeded, nil
}
