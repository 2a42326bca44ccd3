package store

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// How a watch is kept honest. Every probeEvery, etcd's majority is asked for its revision. A watch that does not get
// there, and does not get on at all, for silence is given up, and so is one that etcd does not take on for as long. Readiness tells
// of it in between: see MaxSilence in cmd/rota/internal/backend.
//
// One that is doubted, since a member does not answer and it may be on that one, is probed more often for a while, and has less time.
const (
	probeEvery = 3 * time.Second
	silence    = 12 * time.Second

	doubtFor     = 10 * time.Second // longer than etcd takes to elect, if that was its leader
	doubtEvery   = 250 * time.Millisecond
	doubtSilence = time.Second
)

// mark is a revision that etcd's majority had reached at an instant.
type mark struct {
	rev      int64
	at       time.Time
	patience time.Duration // how long a watch may be silent that is not there
}

// vigil judges whether a watch still tells what happens. It belongs to whoever reads the watch.
type vigil struct {
	prefix  string
	reached int64     // everything up to it has been told
	heard   time.Time // when the watch said anything new last
	want    mark      // the oldest that is not reached; the zero mark if there is none
}

// told takes over an answer of the watch. The header of one with events may be ahead of them: what a watch has missed
// comes in parts. One that only repeats how far it is proves nothing: a member that takes nothing on any more, say since its
// disk hangs, says so for ever.
func (v *vigil) told(resp *clientv3.WatchResponse, now time.Time) {
	before := v.reached
	switch n := len(resp.Events); {
	case n > 0:
		v.reached = resp.Events[n-1].Kv.ModRevision
	case resp.IsProgressNotify():
		v.reached = max(v.reached, resp.Header.Revision)
	}
	if v.reached > before {
		v.heard = now
	}
}

// marked takes over how far etcd is, and returns an error if the watch is dead.
func (v *vigil) marked(m mark, now time.Time) error {
	if v.want.rev == 0 {
		v.want = m
	}
	if quiet := now.Sub(job.Later(v.heard, v.want.at)); v.want.rev > v.reached && quiet > m.patience {
		return fmt.Errorf("watch %s: at revision %d, etcd at %d, and nothing new heard for %v", v.prefix, v.reached, m.rev, quiet.Round(time.Second))
	}
	return nil
}

// current returns an instant at which the watch lacked nothing, once for each.
func (v *vigil) current() (at time.Time, ok bool) {
	if v.want.rev == 0 || v.want.rev > v.reached {
		return time.Time{}, false
	}
	at, v.want = v.want.at, mark{}
	return at, true
}

// probe asks etcd's majority for its revision now and then, and has the watch told to say how far it is, as long as it lasts. A
// member that is cut off answers the latter by itself, so that alone proves nothing.
func (s *Store) probe(w *stream, ask <-chan struct{}, marks chan<- mark) {
	ctx, doubt := w.ctx, w.doubt
	timer := time.NewTimer(probeEvery)
	defer timer.Stop()
	var doubted time.Time // until then
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-ask:
		case <-doubt.Done():
			doubted = time.Now().Add(doubtFor)
			doubt = s.doubt.next()
		}
		m := mark{at: time.Now(), patience: silence}
		timer.Reset(probeEvery)
		if m.at.Before(doubted) {
			m.patience = doubtSilence
			timer.Reset(doubtEvery)
		}
		var err error
		if m.rev, err = s.Revision(ctx); err != nil {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case marks <- m:
		}
		try, cancel := context.WithTimeout(ctx, tryTimeout)
		_ = s.client.RequestProgress(try) // the watch itself says what became of it
		cancel()
	}
}
