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

// standings runs whileTrusted in a bubble. It tells how often run was begun, and whether it stands now.
func standings(t *testing.T, p *PeerClocks) (begun *int, stands *bool) {
	t.Helper()
	begun, stands = new(int), new(bool)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { // awaited below
		ended <- p.whileTrusted(ctx, func(ctx context.Context) error {
			*begun, *stands = *begun+1, true
			<-ctx.Done()
			*stands = false
			return nil
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("after the end of its context: got %v, want nil", err)
		}
	})
	return begun, stands
}

func TestItStandsWhileTheClockIsTrusted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := NewPeerClocks(nil)
		begun, stands := standings(t, p)
		want := func(what string, wantBegun int, wantStands bool) {
			t.Helper()
			time.Sleep(trustPoll)
			synctest.Wait()
			if *begun != wantBegun || *stands != wantStands {
				t.Fatalf("%s: begun %d times, stands: %v; want %d, %v", what, *begun, *stands, wantBegun, wantStands)
			}
		}
		judge := func(ahead time.Duration) { p.round(time.Now(), ahead).Judge(time.Now(), peerAge, peerTolerance) }
		want("before anything was measured", 0, false)
		judge(time.Minute)
		want("judged for the first time, and wrong", 0, false)
		judge(0)
		want("right", 1, true)
		judge(0)
		want("still right", 1, true)
		judge(time.Minute)
		want("wrong", 1, false)
		judge(0)
		want("right again", 2, true)
		p.Suspect()
		want("in doubt", 2, false)
		judge(0)
		want("judged anew", 3, true)
	})
}

func TestItStandsNoMoreAfterAnError(t *testing.T) {
	t.Parallel()
	p := NewPeerClocks(nil)
	p.Round().Judge(time.Now(), peerAge, peerTolerance)
	broken := errors.New("client is closed")
	if err := p.whileTrusted(t.Context(), func(context.Context) error { return broken }); err != broken {
		t.Errorf("got %v, want %v", err, broken)
	}
}

func TestAClockThatWasSetIsInDoubt(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err, cause error // what lead returns, and why its context ends
		doubt      bool
	}{
		"it was stopped":                        {nil, ErrStopped, false},
		"it fails":                              {errors.New("cannot dispatch"), nil, false},
		"the key was deleted":                   {termLost(ErrKeyDeleted), termLost(ErrKeyDeleted), false},
		"the clock was set, and it says so":     {fmt.Errorf("lead: %w", ErrClockJumped), nil, true},
		"the clock was set, and it says so not": {nil, termLost(fmt.Errorf("%w: wall clock set by 1h", ErrClockJumped)), true},
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
			if err != tt.err {
				t.Errorf("got %v, want %v", err, tt.err)
			}
			if got := errors.Is(p.Trusted(), ErrClockSet); got != tt.doubt {
				t.Errorf("in doubt: got %v, want %v", got, tt.doubt)
			}
		})
	}
}

// A clock may be set between two rounds, and its replica win before the next.
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
				t.Fatalf("judged: led %d times (%v), want once", led, err)
			}
			under := p.Round()
			machine.wall.Add(int64(set))
			if err := win(); !errors.Is(err, ErrClockJumped) || led != 1 {
				t.Errorf("set: led %d times (%v), want ErrClockJumped", led, err)
			}
			under.Judge(machine.read().Wall, peerAge, peerTolerance)
			if err := win(); !errors.Is(err, ErrClockSet) || led != 1 {
				t.Errorf("after a round that began before: led %d times (%v), want ErrClockSet", led, err)
			}
			p.Round().Judge(machine.read().Wall, peerAge, peerTolerance)
			if err := win(); err != nil || led != 2 {
				t.Errorf("judged anew: led %d times (%v), want twice", led, err)
			}
		})
	}
}

func TestALeaderWhoseClockWasSetLeadsAfterItWasJudged(t *testing.T) {
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
	eventually(t, "the clock is in doubt", func() bool { return errors.Is(peers.Trusted(), ErrClockSet) })
	eventually(t, "it does not stand any more", func() bool { return elector.Status().State == StateFollower && len(queue(t, dial(t))) == 0 })
	judged, err := dial(t).Put(call(t), "/"+t.Name()+"/judged", "")
	if err != nil {
		t.Fatal(err)
	}
	peers.Round().Judge(time.Now(), peerAge, peerTolerance)
	if next := receive(t, "a term", terms); next.Rev <= first.Rev || next.Rev <= judged.Header.Revision {
		t.Errorf("next term: got %d, want one that began after the clock was judged at %d", next.Rev, judged.Header.Revision)
	}
}
