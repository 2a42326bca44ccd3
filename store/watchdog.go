package store

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// How a silent watch is detected. Every probeEvery, the store asks etcd's majority for its revision. It gives up a
// watch that has not reached that revision and has made no progress for maxSilence, and also a watch that etcd does not
// accept for as long. Readiness reports the silence earlier: see MaxSilence in cmd/rota/internal/backend.
//
// When a member becomes suspect, the watch may depend on it: for suspectFor it is probed more often, and has less time.
const (
	probeEvery = 3 * time.Second
	maxSilence = 12 * time.Second

	suspectFor     = 10 * time.Second // longer than an election of etcd takes, in case the member led it
	suspectEvery   = 250 * time.Millisecond
	suspectSilence = time.Second
)

// probed is a revision that etcd's majority had reached at an instant.
type probed struct {
	rev     int64
	at      time.Time
	silence time.Duration // how long a watch that has not reached rev may make no progress
}

// watchdog judges whether a watch still delivers changes. It belongs to the goroutine that reads the watch.
type watchdog struct {
	prefix   string
	reached  int64     // everything up to it has been delivered
	progress time.Time // when reached last rose
	want     probed    // the oldest probe that the watch has not reached; the zero value if there is none
}

// observe takes in a response of the watch. The revision in the header of a response with events may be ahead of them, because
// missed changes come in parts. A response that only repeats a revision is no progress: a member with a hung disk sends those for
// ever.
func (w *watchdog) observe(resp *clientv3.WatchResponse, now time.Time) {
	before := w.reached
	switch n := len(resp.Events); {
	case n > 0:
		w.reached = resp.Events[n-1].Kv.ModRevision
	case resp.IsProgressNotify():
		w.reached = max(w.reached, resp.Header.Revision)
	}
	if w.reached > before {
		w.progress = now
	}
}

// expect takes in a probe. It returns an error if the watch is dead.
func (w *watchdog) expect(p probed, now time.Time) error {
	if w.want.rev == 0 {
		w.want = p
	}
	if quiet := now.Sub(job.Later(w.progress, w.want.at)); w.want.rev > w.reached && quiet > p.silence {
		return fmt.Errorf("watch %s: at revision %d, etcd at %d, and no progress for %v",
			w.prefix, w.reached, p.rev, quiet.Round(time.Second))
	}
	return nil
}

// current returns an instant at which the watch had delivered everything. ok is false until another probe is reached.
func (w *watchdog) current() (at time.Time, ok bool) {
	if w.want.rev == 0 || w.want.rev > w.reached {
		return time.Time{}, false
	}
	at, w.want = w.want.at, probed{}
	return at, true
}

// probe asks etcd's majority for its revision, again and again, and has etcd report the watch's progress, until the watch ends. A
// member that is cut off still reports progress, so progress alone proves nothing. A message on now asks for a probe at once.
func (s *Store) probe(w *stream, now <-chan struct{}, probes chan<- probed) {
	ctx, suspect := w.ctx, w.suspect
	timer := time.NewTimer(s.probes.untilNext(time.Now()))
	defer timer.Stop()
	var suspectUntil time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-now:
		case <-suspect.Done():
			suspectUntil = time.Now().Add(suspectFor)
			suspect = s.suspect.next() //nolint:fatcontext // not derived from the last one
		}
		p := probed{silence: maxSilence}
		if at := time.Now(); at.Before(suspectUntil) {
			p.silence = suspectSilence
			timer.Reset(suspectEvery)
		} else {
			timer.Reset(s.probes.untilNext(at))
		}
		var err error
		if p.at, p.rev, err = s.probes.ask(ctx); err != nil {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case probes <- p:
		}
		try, cancel := context.WithTimeout(ctx, tryTimeout)
		_ = s.client.RequestProgress(try) // if it fails, the watch itself ends
		cancel()
	}
}
