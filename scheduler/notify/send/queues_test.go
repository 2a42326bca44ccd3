package send_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/notify"
	"github.com/rota-scheduler/rota/scheduler/notify/send"
)

// wire is a Sender and an Observer. It records what arrived, by URL, and counts outcomes.
type wire struct {
	answer func(ctx context.Context, url string) error // nil: everything arrives

	mu     sync.Mutex
	sent   map[string][]string    // guarded by mu: titles of the messages that arrived
	at     map[string][]time.Time // guarded by mu: when they arrived
	counts map[string]int         // guarded by mu, by outcome
	tries  int                    // guarded by mu
}

func (w *wire) Send(ctx context.Context, url string, m notify.Message) error {
	w.mu.Lock()
	w.tries++
	w.mu.Unlock()
	if w.answer != nil {
		if err := w.answer(ctx, url); err != nil {
			return err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent[url] = append(w.sent[url], m.Title)
	w.at[url] = append(w.at[url], time.Now())
	return nil
}

func (w *wire) Notified(_, outcome string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[outcome] += n
}

// titles returns the titles of the messages that arrived at a URL.
func (w *wire) titles(url string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.sent[url])
}

// times returns the times at which messages arrived at a URL.
func (w *wire) times(url string) []time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.at[url])
}

// counted returns how many notices had an outcome.
func (w *wire) counted(outcome string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.counts[outcome]
}

func newWire(answer func(context.Context, string) error) *wire {
	return &wire{answer: answer, sent: make(map[string][]string), at: make(map[string][]time.Time), counts: make(map[string]int)}
}

// open returns queues that end with the test.
func open(t *testing.T, w *wire, cfg send.Config) (*send.Queues, context.Context) {
	ctx, cancel := context.WithCancel(t.Context())
	d := send.NewQueues(cfg, w, w, hclog.NewNullLogger())
	t.Cleanup(func() { cancel(); d.Wait() })
	return d, ctx
}

// items posts n items to a URL. It returns how many of them are done.
func items(ctx context.Context, d *send.Queues, url string, n int) *atomic.Int64 {
	var done atomic.Int64
	for i := range n {
		text := fmt.Sprintf("%s %d", url, i)
		d.Post(ctx, "ops", url, send.Item{
			Occasion: job.OnFailure, Line: text, Done: func() { done.Add(1) },
			Message: func(context.Context) notify.Message { return notify.Message{Title: text} },
		})
	}
	return &done
}

func TestManyNoticesAreSummedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{}) // no message is sent before all items are posted
		w := newWire(func(context.Context, string) error { <-gate; return nil })
		d, ctx := open(t, w, send.DefaultConfig())
		done := items(ctx, d, "a", 46)
		close(gate)
		synctest.Wait()
		if got := w.titles("a"); len(got) != 10 || got[0] != "a 0" || got[9] != "rota: 37 more notifications" {
			t.Fatalf("got %q, want nine and a summary", got)
		}
		if done.Load() != 46 || w.counted(send.Sent) != 9 || w.counted(send.Summed) != 37 {
			t.Errorf("%d are done, counted %v", done.Load(), w.counts)
		}
		// The next notices wait until the minute is over.
		items(ctx, d, "a", 2)
		synctest.Wait()
		if n := len(w.titles("a")); n != 10 {
			t.Errorf("%d messages within a minute", n)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := w.titles("a"); len(got) != 12 || got[10] != "a 0" || got[11] != "a 1" {
			t.Errorf("after a minute: got %q", got[10:])
		}
		items(ctx, d, "a", 1)
		synctest.Wait()
		if got := w.titles("a"); got[len(got)-1] != "a 0" {
			t.Errorf("a single notice is summed up: %q", got[len(got)-1])
		}
	})
}

func TestPaceHoldsInEveryMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire(nil)
		d, ctx := open(t, w, send.DefaultConfig())
		for range 600 { // one item a second for ten minutes
			items(ctx, d, "a", 1)
			time.Sleep(time.Second)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		for i, at := range w.times("a") {
			if j := i + 10; j < len(w.times("a")) && w.times("a")[j].Sub(at) < time.Minute {
				t.Errorf("eleven messages within %v", w.times("a")[j].Sub(at))
			}
		}
		if w.counted(send.Sent)+w.counted(send.Summed) != 600 {
			t.Errorf("counted %v, want all 600", w.counts)
		}
	})
}

func TestHangingNotifierDelaysOnlyItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire(func(ctx context.Context, url string) error {
			if url == "hangs" {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		})
		d, ctx := open(t, w, send.DefaultConfig())
		began := time.Now()
		stuck := items(ctx, d, "hangs", 3)
		done := items(ctx, d, "b", 3)
		synctest.Wait()
		if done.Load() != 3 || time.Since(began) != 0 {
			t.Errorf("%d of 3 after %v", done.Load(), time.Since(began))
		}
		time.Sleep(59 * time.Minute)
		synctest.Wait()
		if stuck.Load() != 0 || w.counted(send.Failed) != 0 {
			t.Errorf("given up too early: %v", w.counts)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if stuck.Load() != 1 || w.counted(send.Failed) != 1 {
			t.Errorf("after an hour: %d are done, counted %v", stuck.Load(), w.counts)
		}
		if w.tries > 3+60 {
			t.Errorf("%d tries within an hour", w.tries)
		}
	})
}

func TestFailedSendingIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := 3
		w := newWire(func(context.Context, string) error {
			if left--; left >= 0 {
				return errors.New("no")
			}
			return nil
		})
		d, ctx := open(t, w, send.DefaultConfig())
		began := time.Now()
		done := items(ctx, d, "a", 1)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if done.Load() != 1 || w.counted(send.Repeated) != 3 || w.counted(send.Sent) != 1 {
			t.Errorf("%d are done, counted %v", done.Load(), w.counts)
		}
		if took := w.times("a")[0].Sub(began); took != 7*time.Second {
			t.Errorf("it took %v, want 1+2+4 s", took)
		}
	})
}

func TestNoticesBeyondMaxWaitingAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		w := newWire(func(ctx context.Context, _ string) error {
			<-gate
			return nil
		})
		cfg := send.DefaultConfig()
		cfg.MaxWaiting = 5
		d, ctx := open(t, w, cfg)
		items(ctx, d, "a", 1)
		synctest.Wait() // the first sending is under way
		done := items(ctx, d, "a", 100)
		if done.Load() != 0 {
			t.Errorf("%d are done before anything was sent", done.Load())
		}
		close(gate)
		synctest.Wait()
		if got := w.titles("a"); len(got) != 2 || got[1] != "rota: 100 more notifications" {
			t.Errorf("got %q", got)
		}
		if w.counted(send.Summed) != 100 || done.Load() != 100 {
			t.Errorf("%d are done, counted %v", done.Load(), w.counts)
		}
	})
}

func TestSendingEndsWithTheTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire(func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() })
		ctx, cancel := context.WithCancel(t.Context())
		d := send.NewQueues(send.DefaultConfig(), w, nil, hclog.NewNullLogger())
		done := items(ctx, d, "a", 3)
		synctest.Wait()
		cancel()
		d.Wait()
		if done.Load() != 0 {
			t.Error("an item that was not sent is done")
		}
	})
}

func TestManyNotifiers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire(nil)
		d, ctx := open(t, w, send.DefaultConfig())
		for i := range 3000 {
			items(ctx, d, fmt.Sprintf("url%d", i), 1)
			if i%100 == 0 {
				time.Sleep(10 * time.Second)
			}
		}
		synctest.Wait()
		if n := len(slices.Collect(maps.Keys(w.sent))); n != 3000 {
			t.Errorf("%d of 3000 notifiers got a message", n)
		}
		for url, titles := range w.sent {
			if len(titles) != 1 || !strings.HasPrefix(titles[0], url+" ") {
				t.Errorf("%s got %q", url, titles)
			}
		}
	})
}
