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

// WitnessConfig says which election a Witness watches, and under which name.
type WitnessConfig struct {
	Prefix string // of the election
	Name   string // the candidate of this process; a witness does not watch itself
	Limit  string // a key with a lease, present for a while after each forced takeover, so that terms do not flap
	// Signs are prefixes under which each process has a key with a lease and the name of its candidate, as a sign of life. The
	// keys of the dead process are removed with its term. The keys of a later process with the same name stay.
	Signs []string
	// LastSign returns what replaces the value of a sign of the dead process, until its lease expires. "" removes the sign, and nil
	// removes all of them.
	LastSign func(key string) string
	// Await waits for the death of the process at an address. Nil means AwaitDeath; a simulation replaces it.
	Await func(ctx context.Context, addr string) bool
	// Answers reports whether a process listens at an address. Nil means Listens; a simulation replaces it.
	Answers func(ctx context.Context, addr string) bool
}

// Times of a Witness.
const (
	witnessPoll  = time.Second            // between two reads of the leader, while the witness watches it
	witnessRest  = 5 * time.Second        // the same, while it cannot watch it: most often, this process leads
	witnessPause = 250 * time.Millisecond // after a read without a leader to watch, or a failed connection
	limitTTL     = 3                      // seconds between two forced takeovers in the whole cluster
	endTimeout   = 3 * time.Second        // for one takeover, before the witness checks whether it is still due
	limitPoll    = 100 * time.Millisecond // between two checks whether the next takeover is allowed
)

// Witness ends the term of a leader whose process is proven dead, so that no candidate waits for its lease to expire.
//
// Safety does not depend on the proof. A transaction ends the term: it deletes the leader's key if that is still the watched one.
// Every write of the old leader compares that key, whether the leader is dead or not. A wrong proof costs a change of leader, at
// most once in limitTTL seconds.
type Witness struct {
	cfg    WitnessConfig
	client *clientv3.Client
	log    hclog.Logger
}

// NewWitness returns a witness that does nothing until Run is called.
func NewWitness(cfg WitnessConfig, client *clientv3.Client, log hclog.Logger) *Witness {
	if cfg.Await == nil {
		cfg.Await = AwaitDeath
	}
	if cfg.Answers == nil {
		cfg.Answers = Listens
	}
	return &Witness{cfg: cfg, client: client, log: log}
}

// Run watches each leader in turn until ctx ends, and returns nil.
func (w *Witness) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		h, ok, err := Leader(ctx, w.client, w.cfg.Prefix)
		if err != nil || !ok {
			wait(ctx, witnessPause)
			continue
		}
		if signs, dead := w.awaitLeaderDeath(ctx, h); dead {
			w.endTerm(ctx, h, signs)
		}
	}
	return nil
}

// watches reports whether this witness can prove the death of h: its address is known, and it is another process.
func (w *Witness) watches(h Holder) bool {
	return h.Candidate.Addr != "" && h.Candidate.Node != w.cfg.Name
}

// signs are the leases of one process's signs of life, by key.
type signs map[string]int64

// awaitLeaderDeath returns true when the leader h is proven dead, with its last signs of life. It returns false when its term or
// ctx has ended. If the witness cannot watch h, it waits for the end of the term.
func (w *Witness) awaitLeaderDeath(ctx context.Context, h Holder) (signs, bool) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	alive, pace := w.readSigns(ctx, h, nil), witnessRest
	dead, over := make(chan struct{}), make(chan struct{})
	if w.watches(h) {
		pace = witnessPoll
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
	// A watch finds the end of the term at once. The next leader may die soon, and only a witness that is connected by then can
	// prove its death.
	wg.Go(func() {
		if awaitDeletion(ctx, w.client, h.Term, witnessPoll) {
			close(over)
		}
	})
	poll := time.NewTicker(pace)
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
		if err == nil && (!ok || now.Term.Rev != h.Term.Rev) { // the watch may hang
			return nil, false
		}
		latest := w.readSigns(ctx, h, alive)
		select {
		case <-dead: // latest may be the signs of the next process
			return alive, true
		default:
			alive = latest
		}
	}
}

// readSigns reads the signs of life of h. If a sign cannot be read, its earlier value stays. A sign that was never read
// is removed only when its lease expires.
func (w *Witness) readSigns(ctx context.Context, h Holder, before signs) signs {
	if !w.watches(h) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	found := make(signs)
	for _, prefix := range w.cfg.Signs {
		key := prefix + h.Candidate.Node
		resp, err := w.client.Get(ctx, key)
		switch lease, known := before[key]; {
		case err == nil && len(resp.Kvs) == 1 && resp.Kvs[0].Lease != 0:
			found[key] = resp.Kvs[0].Lease
		case err != nil && known:
			found[key] = lease
		}
	}
	return found
}

// verdict is the outcome of a try to end a term.
type verdict int

const (
	ended   verdict = iota // this witness ended the term
	over                   // the term had ended before
	refused                // another takeover was forced recently
)

// endTerm deletes the key of a dead leader. If etcd does not answer, or another takeover was forced recently, it tries again
// later, because a death can be proven only once. It gives up when the term is over or a process answers at the address of the
// dead one. (etcd may not answer because it ran on the same machine.)
func (w *Witness) endTerm(ctx context.Context, h Holder, alive signs) {
	log := w.log.With("leader", h.Candidate.Node, "term", h.Term.Rev)
	for logged := false; ctx.Err() == nil; logged = true {
		switch v, err := w.force(ctx, h, alive); {
		case err == nil && v == ended:
			log.Warn("the leader's process is dead, its term was ended")
			return
		case err == nil && v == over:
			log.Debug("the dead leader's term was not ended here")
			return
		case logged:
		case err != nil:
			log.Info("the leader's process is dead, but etcd does not accept the end of its term yet", "err", err)
		default:
			log.Info("the leader's process is dead, but another takeover was forced recently")
		}
		if !w.awaitAllowed(ctx, h) || w.cfg.Answers(ctx, h.Candidate.Addr) {
			log.Debug("the dead leader's term is over, or a process answers in its place")
			return
		}
	}
}

// force tries to end the term of h until etcd's answer is definite, for at most endTimeout. After an error the outcome is unknown.
func (w *Witness) force(ctx context.Context, h Holder, alive signs) (v verdict, err error) {
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	note, err := json.Marshal(map[string]any{"dead": h.Candidate.Node, "term": h.Term.Rev, "by": w.cfg.Name})
	if err != nil {
		return over, fmt.Errorf("encode the record of a takeover: %w", err)
	}
	for {
		if v, err = w.tryForce(ctx, h, alive, string(note)); err == nil || ctx.Err() != nil {
			return v, err
		}
		wait(ctx, refusalPause) // etcd may be electing; the same transaction again does no harm
	}
}

// tryForce sends the transaction of force once.
func (w *Witness) tryForce(ctx context.Context, h Holder, alive signs, note string) (verdict, error) {
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
		unchanged := clientv3.Compare(clientv3.LeaseValue(key), "=", lease)
		then = append(then, clientv3.OpTxn([]clientv3.Cmp{unchanged}, []clientv3.Op{w.end(key)}, nil))
	}
	stands, allowed, err := w.ifAllowed(ctx, h, then)
	switch {
	case err != nil:
		return over, fmt.Errorf("end term %d: %w", h.Term.Rev, err)
	case !stands:
		return over, nil
	case !allowed:
		return refused, nil
	}
	return ended, nil
}

// end returns the operation that ends a sign of the dead process.
func (w *Witness) end(key string) clientv3.Op {
	if w.cfg.LastSign != nil {
		if last := w.cfg.LastSign(key); last != "" {
			return clientv3.OpPut(key, last, clientv3.WithIgnoreLease())
		}
	}
	return clientv3.OpDelete(key)
}

// ifAllowed executes then if the term of h stands and a takeover is allowed. A takeover is allowed if the key Limit is missing or
// has no lease. A key without a lease would stay for ever, and only a person can have written it.
func (w *Witness) ifAllowed(ctx context.Context, h Holder, then []clientv3.Op) (stands, allowed bool, err error) {
	noLease := clientv3.Compare(clientv3.LeaseValue(w.cfg.Limit), "=", 0)
	resp, err := w.client.Txn(ctx).If(h.Term.Held()).Then(clientv3.OpTxn([]clientv3.Cmp{noLease}, then, nil)).Commit()
	if err != nil || !resp.Succeeded {
		return false, false, err
	}
	return true, resp.Responses[0].GetResponseTxn().Succeeded, nil
}

// awaitAllowed waits until a takeover is allowed, and returns true if the term of h still stands then. It waits at most until the
// lease of h has expired, because that ends the term.
func (w *Witness) awaitAllowed(ctx context.Context, h Holder) bool {
	for ctx.Err() == nil {
		wait(ctx, limitPoll)
		asking, cancel := context.WithTimeout(ctx, requestTimeout)
		stands, allowed, err := w.ifAllowed(asking, h, nil)
		cancel()
		if err == nil && (!stands || allowed) { // after an error, read again: etcd may answer then
			return stands
		}
	}
	return false
}
