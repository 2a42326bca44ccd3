package worker

import (
	"context"
	"errors"
	"strings"
	"time"
)

// How long a kind stays away at least. If it goes away soon after its return, it stays away for twice as long as before. So a
// service that answers the check and nothing else changes the presence rarely.
const (
	awayLeast  = time.Second
	awayMost   = time.Minute
	awayMemory = 5 * time.Minute // a kind that has been back for longer counts as healthy
)

// kindCheckTimeout bounds one check of a kind.
const kindCheckTimeout = 5 * time.Second

// maxAwayText is the longest reason in the presence, in bytes.
const maxAwayText = 500

// kindHealth is whether attempts of one kind of action can start. Worker.mu guards it.
type kindHealth struct {
	why  string        // why they cannot; "": they can, as far as is known
	back chan struct{} // closed when they can again
	held time.Duration // how long the kind stayed away at least, the last time
	gone time.Time     // when it went away
	at   time.Time     // when it returned
}

// kindFailed records why an attempt of a kind could not start. The worker accepts no runs of the kind until its check succeeds.
// life is the context of the worker's attempts.
func (w *Worker) kindFailed(life context.Context, kind, why string) {
	if len(why) > maxAwayText {
		why = strings.ToValidUTF8(why[:maxAwayText], "") + "…"
	}
	w.mu.Lock()
	h := w.kinds[kind]
	if h == nil {
		h = &kindHealth{}
		w.kinds[kind] = h
	}
	if h.why != "" {
		w.mu.Unlock()
		return
	}
	if h.held = min(2*h.held, awayMost); h.held == 0 || w.now().Sub(h.at) > awayMemory {
		h.held = awayLeast
	}
	h.why, h.back, h.gone = why, make(chan struct{}), w.now()
	hold := h.held
	w.mu.Unlock()
	w.log.Error("worker accepts no runs of a kind, since an attempt could not start", "kind", kind, "err", why)
	w.wg.Go(func() { w.awaitKind(life, kind, hold) })
	w.suspectDisk() // wakes watchHealth, which publishes the presence
}

// awaitKind checks a kind once a second after it was away for hold, and makes the worker accept its runs again.
func (w *Worker) awaitKind(life context.Context, kind string, hold time.Duration) {
	for wait := hold; ; wait = awayLeast {
		if sleep(life, wait) != nil {
			return
		}
		if w.checkKind(life, kind) == nil {
			break
		}
	}
	w.mu.Lock()
	h := w.kinds[kind]
	h.why, h.at = "", w.now()
	close(h.back)
	w.mu.Unlock()
	w.log.Info("attempts of the kind can start again, and the worker accepts its runs", "kind", kind)
	w.suspectDisk()
}

func (w *Worker) checkKind(life context.Context, kind string) error {
	if w.cfg.KindCheck == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(life, kindCheckTimeout)
	defer cancel()
	return errors.Join(w.cfg.KindCheck(ctx, kind), life.Err())
}

// kindBack returns a channel that is closed when attempts of a kind can start again, and since when they cannot; nil if they can.
func (w *Worker) kindBack(kind string) (back <-chan struct{}, gone time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if h := w.kinds[kind]; h != nil && h.why != "" {
		return h.back, h.gone
	}
	return nil, time.Time{}
}

// awayLocked returns why attempts of a kind cannot start, by kind; nil: all can. w.mu is held.
func (w *Worker) awayLocked() (away map[string]string) {
	for kind, h := range w.kinds {
		if h.why != "" {
			if away == nil {
				away = make(map[string]string)
			}
			away[kind] = h.why
		}
	}
	return away
}
