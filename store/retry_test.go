package store

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/rota-scheduler/rota/store/mem"
)

func TestResendSendsAtOnce(t *testing.T) {
	for _, resent := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var h tries
			h.resend.notify() // no request is under way yet
			began := time.Now()
			if resent {
				time.AfterFunc(50*time.Millisecond, h.resend.notify)
			}
			sent, open := 0, 0
			err := untilDefinite(t.Context(), false, &h, func(ctx context.Context) error {
				if sent++; sent == 1 {
					<-ctx.Done() // etcd dropped this request
					return ctx.Err()
				}
				return nil
			}, func() { open++ })
			want := shortTry
			if resent {
				want = 50*time.Millisecond + minPause
			}
			if took := time.Since(began); err != nil || sent != 2 || open != 1 || took != want {
				t.Errorf("resent %v: got %v after %v, sent %d times, of which %d are open; want an answer after %v, sent twice", resent, err, took, sent, open, want)
			}
		})
	}
}

// A caller may take a request for not sent only if no sending of it can be applied any more.
func TestTheOutcomeIsUnknownOnceARequestMayBeApplied(t *testing.T) {
	unavailable := errors.New("unavailable")
	for name, tt := range map[string]struct {
		open    bool  // before
		fails   error // of each sending, after which the caller gives up
		unknown bool
		sent    int
	}{
		"never sent":                             {false, nil, false, 0},
		"sent earlier":                           {true, nil, true, 0},
		"not answered":                           {false, unavailable, true, 1},
		"forbidden":                              {false, rpctypes.ErrGRPCPermissionDenied, false, 1},
		"forbidden after an unanswered sending":  {true, rpctypes.ErrGRPCPermissionDenied, true, 1},
		"too large after an unanswered sending":  {true, rpctypes.ErrGRPCRequestTooLarge, false, 1},
		"abandoned by its callers":               {false, errAbandoned, true, 1},
		"no space, which the caller tells apart": {true, rpctypes.ErrGRPCNoSpace, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, giveUp := context.WithCancel(t.Context())
			defer giveUp()
			if tt.sent == 0 {
				giveUp()
			}
			var h tries
			sent := 0
			err := untilDefinite(ctx, tt.open, &h, func(context.Context) error {
				sent++
				if !errors.Is(tt.fails, errAbandoned) { // otherwise it would be sent until the test times out
					giveUp()
				}
				return tt.fails
			}, func() {})
			if err == nil || isUnknown(err) != tt.unknown || sent != tt.sent {
				t.Errorf("got %v after %d sendings; want that the outcome is unknown: %t", err, sent, tt.unknown)
			}
		})
	}
}

// A write whose answer takes longer than the first try must not be sent for ever. Later writes must need only one
// sending.
func TestSlowAnswersAreWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h tries
		const takes = 2 * shortTry
		write := func() (sent int) {
			err := untilDefinite(t.Context(), false, &h, func(ctx context.Context) error {
				sent++
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(takes):
					return nil
				}
			}, func() {})
			if err != nil {
				t.Errorf("got %v", err)
			}
			return sent
		}
		if sent := write(); sent != 3 {
			t.Errorf("the first write was sent %d times, want 3", sent)
		}
		for range 100 {
			if sent := write(); sent != 1 {
				t.Fatalf("a later write was sent %d times, want once: it is known how long an answer takes", sent)
			}
		}
		for range 1000 {
			h.observeLatency(time.Millisecond)
		}
		if limit := h.firstTry(); limit != shortTry {
			t.Errorf("once answers are fast again, the first try may take %v, want %v", limit, shortTry)
		}
	})
}

// TestResendAfterElection checks that a client outside etcd learns of a new leader from any answer, and then sends again what the last
// leader may have dropped.
func TestResendAfterElection(t *testing.T) {
	for _, learned := range []string{"by a watch", "by another write"} {
		synctest.Test(t, func(t *testing.T) {
			var drop atomic.Bool
			srv := mem.New(mem.Config{Faults: mem.FaultFunc(func(op mem.Op) mem.Verdict {
				if op.Kind == mem.Txn && drop.CompareAndSwap(true, false) {
					return mem.Verdict{Action: mem.Refuse, Hang: true}
				}
				return mem.Verdict{}
			})})
			defer srv.Close()
			s := New(Config{Prefix: prefix, Process: "p"}, srv.Client(), nullLog)
			other := New(Config{Prefix: prefix, Process: "q"}, srv.Client(), nullLog)
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			defer func() { cancel(); wg.Wait(); s.Close(); other.Close() }()
			define := func(s *Store, name string) {
				if _, err := s.PutJob(ctx, definition(name)); err != nil {
					t.Error(err)
				}
			}
			if learned == "by a watch" {
				wg.Go(func() { _ = NewMirror(s).Follow(ctx) })
			}
			define(s, "a") // the answer shows the present term of etcd
			synctest.Wait()

			drop.Store(true)
			began := time.Now()
			answered := make(chan struct{})
			wg.Go(func() {
				defer close(answered)
				define(s, "b")
				if took := time.Since(began); took >= shortTry {
					t.Errorf("%s: the write was answered after %v", learned, took)
				}
			})
			synctest.Wait()
			srv.Elect()
			if learned == "by a watch" {
				define(other, "c")
			} else {
				define(s, "c")
			}
			<-answered
		})
	}
}
