package election

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
)

// campaigns starts whileTrusted in the caller's synctest bubble, until the test ends. calls counts the calls that whileTrusted makes.
// running is true during a call.
func campaigns(t *testing.T, p *PeerClocks) (calls *int, running *bool) {
	t.Helper()
	calls, running = new(int), new(bool)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { // awaited below
		ended <- p.whileTrusted(ctx, func(ctx context.Context) error {
			*calls, *running = *calls+1, true
			<-ctx.Done()
			*running = false
			return nil
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("after the end of its context: got %v, want nil", err)
		}
	})
	return calls, running
}

func TestItCampaignsWhileTheClockIsTrusted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := NewPeerClocks(nil)
		calls, running := campaigns(t, p)
		want := func(what string, wantCalls int, wantRunning bool) {
			t.Helper()
			time.Sleep(trustPoll)
			synctest.Wait()
			if *calls != wantCalls || *running != wantRunning {
				t.Fatalf("%s: %d calls, running: %v; want %d, %v", what, *calls, *running, wantCalls, wantRunning)
			}
		}
		judge := func(ahead time.Duration) { p.round(time.Now(), ahead).Judge(time.Now(), peerAge, peerTolerance) }
		want("before the first judgement", 0, false)
		judge(time.Minute)
		want("judged for the first time, as wrong", 0, false)
		judge(0)
		want("right", 1, true)
		judge(0)
		want("still right", 1, true)
		judge(time.Minute)
		want("wrong", 1, false)
		judge(0)
		want("right again", 2, true)
		p.Suspect()
		want("suspected", 2, false)
		judge(0)
		want("judged again", 3, true)
	})
}

func TestItReturnsAfterAnError(t *testing.T) {
	t.Parallel()
	p := NewPeerClocks(nil)
	p.Round().Judge(time.Now(), peerAge, peerTolerance)
	broken := errors.New("client is closed")
	if err := p.whileTrusted(t.Context(), func(context.Context) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

func TestAClockThatWasSetIsSuspected(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err, cause error // the result of lead, and the cause of its context
		suspected  bool
	}{
		"stopped":                             {nil, ErrStopped, false},
		"lead fails":                          {errors.New("cannot dispatch"), nil, false},
		"the key was deleted":                 {termLost(ErrKeyDeleted), termLost(ErrKeyDeleted), false},
		"lead reports that the clock was set": {fmt.Errorf("lead: %w", ErrClockJumped), nil, true},
		"only the context reports it":         {nil, termLost(fmt.Errorf("%w: wall clock set by 1h", ErrClockJumped)), true},
	} {
		t.Run(name, func(t *testing.T) {
			p := NewPeerClocks(nil)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			err := p.guard(ctx, Term{}, func(context.Context, Term) error {
				if tt.cause != nil {
					cancel(tt.cause)
				}
				return tt.err
			})
			if !errors.Is(err, tt.err) {
				t.Errorf("got %v, want %v", err, tt.err)
			}
			if got := errors.Is(p.Trusted(), ErrClockSet); got != tt.suspected {
				t.Errorf("suspected: got %v, want %v", got, tt.suspected)
			}
		})
	}
}

// TestAClockThatWasSetSinceItWasJudgedDoesNotLead sets the clock between two rounds, and its replica wins before the next round.
func TestAClockThatWasSetSinceItWasJudgedDoesNotLead(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]time.Duration{"ahead": time.Minute, "behind": -time.Minute} {
		t.Run(name, func(t *testing.T) {
			var machine skewed
			p := NewPeerClocks(machine.read)
			led := 0
			win := func() error {
				return p.guard(t.Context(), Term{}, func(context.Context, Term) error { led++; return nil })
			}
			p.Round().Judge(machine.read().Wall, peerAge, peerTolerance)
			if err := win(); err != nil || led != 1 {
				t.Fatalf("after the judgement: led %d times (%v), want once", led, err)
			}
			under := p.Round()
			machine.wall.Add(int64(set))
			if err := win(); !errors.Is(err, ErrClockJumped) || led != 1 {
				t.Errorf("after the clock was set: led %d times (%v), want ErrClockJumped", led, err)
			}
			under.Judge(machine.read().Wall, peerAge, peerTolerance)
			if err := win(); !errors.Is(err, ErrClockSet) || led != 1 {
				t.Errorf("after a round that began before that: led %d times (%v), want ErrClockSet", led, err)
			}
			p.Round().Judge(machine.read().Wall, peerAge, peerTolerance)
			if err := win(); err != nil || led != 2 {
				t.Errorf("after a new judgement: led %d times (%v), want twice", led, err)
			}
		})
	}
}

func TestALeaderWhoseClockWasSetLeadsAfterAJudgement(t *testing.T) {
	t.Parallel()
	var machine skewed
	cfg := quick("a")
	cfg.Prefix, cfg.Clock = prefixOf(t), machine.read
	peers := NewPeerClocks(machine.read)
	peers.Round().Judge(time.Now(), peerAge, peerTolerance)
	elector, terms := New(cfg, dial(t), hclog.NewNullLogger()), make(chan Term, 100)
	background(t, func(ctx context.Context) error {
		return elector.RunTrusted(ctx, peers, func(ctx context.Context, term Term) error {
			terms <- term
			<-ctx.Done()
			return context.Cause(ctx)
		})
	})
	first := receive(t, "a term", terms)
	machine.wall.Add(int64(time.Hour))
	eventually(t, "the clock is suspected", func() bool { return errors.Is(peers.Trusted(), ErrClockSet) })
	eventually(t, "it has left the queue", func() bool { return elector.Status().State == StateFollower && len(queue(t, dial(t))) == 0 })
	judged, err := dial(t).Put(call(t), "/"+t.Name()+"/judged", "")
	if err != nil {
		t.Fatal(err)
	}
	peers.Round().Judge(time.Now(), peerAge, peerTolerance)
	if next := receive(t, "a term", terms); next.Rev <= first.Rev || next.Rev <= judged.Header.Revision {
		t.Errorf("next term: got %d, want one that began after the clock was judged at %d", next.Rev, judged.Header.Revision)
	}
}
