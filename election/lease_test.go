package election

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// lessor is an etcd with one lease whose answers a test decides.
type lessor struct {
	clientv3.Lease
	granted time.Duration
	answer  func(ctx context.Context, try int) error // to a renewal; tries are counted from 1

	mu    sync.Mutex // guards the fields below
	tries []time.Time
}

func (l *lessor) Grant(context.Context, int64) (*clientv3.LeaseGrantResponse, error) {
	return &clientv3.LeaseGrantResponse{ID: 7, TTL: int64(l.granted / time.Second)}, nil
}

func (l *lessor) KeepAliveOnce(ctx context.Context, _ clientv3.LeaseID) (*clientv3.LeaseKeepAliveResponse, error) {
	l.mu.Lock()
	l.tries = append(l.tries, time.Now())
	try := len(l.tries)
	l.mu.Unlock()
	if err := l.answer(ctx, try); err != nil {
		return nil, err
	}
	return &clientv3.LeaseKeepAliveResponse{ID: 7, TTL: int64(l.granted / time.Second)}, nil
}

func (l *lessor) Revoke(context.Context, clientv3.LeaseID) (*clientv3.LeaseRevokeResponse, error) {
	return nil, rpctypes.ErrLeaseNotFound
}

// hang waits until the caller gives up.
func hang(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// bubbleClock is the fake clock of a synctest bubble, without a boot clock.
func bubbleClock() Reading { return Reading{Mono: time.Now(), Wall: time.Now()} }

// grant returns a lease of l with the default config: renewed every second, tries of 700 ms, margin 1 s.
func grant(t *testing.T, l *lessor, clock Clock) *Lease {
	t.Helper()
	client := clientv3.NewCtxClient(t.Context())
	client.Lease = l
	lease, err := Grant(t.Context(), client, LeaseConfig{}, clock)
	if err != nil {
		t.Fatalf("Grant: %v", err)
	}
	return lease
}

func TestLeaseCountsFromBeforeTheRenewalIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lessor{granted: 5 * time.Second, answer: func(context.Context, int) error {
			time.Sleep(150 * time.Millisecond) // the round trip, in the bubble's time
			return nil
		}}
		lease, began := grant(t, l, bubbleClock), time.Now()
		if got, want := lease.Deadline().Sub(began), 4*time.Second; got != want {
			t.Errorf("deadline after the grant: got %v, want %v", got, want)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		if err := lease.Run(ctx); err != nil {
			t.Errorf("Run: got %v, want nil at the end of its context", err)
		}
		if got, want := lease.Deadline().Sub(began), 5*time.Second; got != want {
			t.Errorf("deadline after a renewal sent at 1 s: got %v, want %v", got, want)
		}
	})
}

func TestALeaseThatWaitedIsRenewedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lessor{granted: 5 * time.Second, answer: func(context.Context, int) error { return nil }}
		lease, began := grant(t, l, bubbleClock), time.Now()
		time.Sleep(3500 * time.Millisecond) // the write of its key took this long
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := lease.Run(ctx); err != nil {
			t.Errorf("Run: got %v, want the lease renewed before its deadline", err)
		}
		if got, want := l.tries[0].Sub(began), 3500*time.Millisecond; got != want {
			t.Errorf("first renewal: got %v after the grant, want %v", got, want)
		}
	})
}

func TestLeaseGoesByTheGrantedTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lease, began := grant(t, &lessor{granted: 9 * time.Second}, bubbleClock), time.Now()
		if got, want := lease.TTL(), 9*time.Second; got != want {
			t.Errorf("TTL: got %v, want %v", got, want)
		}
		if got, want := lease.Deadline().Sub(began), 8*time.Second; got != want {
			t.Errorf("deadline: got %v, want %v", got, want)
		}
	})
}

func TestLeaseSurvivesRenewalsThatHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lessor{granted: 5 * time.Second, answer: func(ctx context.Context, try int) error {
			if try%3 != 0 {
				return hang(ctx)
			}
			return nil
		}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := grant(t, l, bubbleClock).Run(ctx); err != nil {
			t.Errorf("Run: got %v, want the lease to survive two hanging endpoints of three", err)
		}
	})
}

func TestLeaseSurvivesNineTriesInARowThatHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lessor{granted: 5 * time.Second, answer: func(ctx context.Context, try int) error {
			if try%10 != 0 {
				return hang(ctx)
			}
			return nil
		}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := grant(t, l, bubbleClock).Run(ctx); err != nil {
			t.Errorf("Run: got %v, want the lease to survive nine tries in a row that hang", err)
		}
	})
}

func TestLeaseDeadlineIsNotMovedBackByALateAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lessor{granted: 5 * time.Second, answer: func(_ context.Context, try int) error {
			if try == 1 {
				time.Sleep(600 * time.Millisecond) // the second try is sent and answered meanwhile
			}
			return nil
		}}
		lease, began := grant(t, l, bubbleClock), time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 1700*time.Millisecond)
		defer cancel()
		if err := lease.Run(ctx); err != nil {
			t.Errorf("Run: got %v, want nil at the end of its context", err)
		}
		if got, want := lease.Deadline().Sub(began), 5200*time.Millisecond; got != want {
			t.Errorf("deadline after a renewal sent at 1.2 s: got %v, want %v", got, want)
		}
	})
}

func TestLeaseIsLost(t *testing.T) {
	tests := map[string]struct {
		answer func(context.Context, int) error
		reason error
		after  time.Duration
	}{
		"at its deadline when renewals hang": {func(ctx context.Context, _ int) error { return hang(ctx) }, ErrDeadlinePassed, 4 * time.Second},
		"at its deadline when renewals fail": {func(context.Context, int) error { return errors.New("refused") }, ErrDeadlinePassed, 4 * time.Second},
		"when etcd does not know it":         {func(context.Context, int) error { return rpctypes.ErrLeaseNotFound }, ErrLeaseGone, time.Second},
		"at the deadline of the last renewal answered": {func(ctx context.Context, try int) error {
			return map[bool]error{false: errors.New("refused")}[try <= 2]
		}, ErrDeadlinePassed, 6 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lease, began := grant(t, &lessor{granted: 5 * time.Second, answer: test.answer}, bubbleClock), time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				err := lease.Run(ctx)
				if !errors.Is(err, ErrLeaseLost) || !errors.Is(err, test.reason) {
					t.Errorf("Run: got %v, want ErrLeaseLost by %v", err, test.reason)
				}
				if got := time.Since(began); got != test.after {
					t.Errorf("lost after %v, want %v", got, test.after)
				}
			})
		})
	}
}

func TestALostLeaseIsNotRevived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lease := grant(t, &lessor{granted: 5 * time.Second}, bubbleClock)
		deadline := lease.Deadline()
		time.Sleep(4 * time.Second)
		lease.extend(time.Now().Add(-time.Second), 5*time.Second)
		if got := lease.Deadline(); got != deadline {
			t.Errorf("deadline: got %v, want %v", got, deadline)
		}
	})
}

func TestASuspendedMachineLosesItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		clock := func() Reading { // after 10 s the machine is suspended for a minute, which only the boot clock shows
			boot := time.Hour + time.Since(began)
			if time.Since(began) > 10*time.Second {
				boot += time.Minute
			}
			return Reading{Mono: time.Now(), Wall: time.Now(), Boot: boot}
		}
		l := &lessor{granted: 5 * time.Second, answer: func(context.Context, int) error { return nil }}
		err := grant(t, l, clock).Run(t.Context())
		if !errors.Is(err, ErrLeaseLost) || !errors.Is(err, ErrClockJumped) {
			t.Errorf("Run: got %v, want ErrLeaseLost by ErrClockJumped", err)
		}
		if took := time.Since(began); took > 10*time.Second+2*clockTick {
			t.Errorf("found after %v, want within two ticks of 10 s", took)
		}
	})
}

func TestRevokeOfALeaseThatIsGoneSucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if err := grant(t, &lessor{granted: 5 * time.Second}, bubbleClock).Revoke(t.Context()); err != nil {
			t.Errorf("Revoke: got %v, want nil", err)
		}
	})
}

func TestLeaseLivesInEtcd(t *testing.T) {
	t.Parallel()
	client := dial(t)
	lease, err := Grant(t.Context(), client, LeaseConfig{TTL: 2 * time.Second}, nil)
	if err != nil {
		t.Fatalf("Grant: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- lease.Run(ctx) }()
	granted := lease.Deadline()
	eventually(t, "it outlives its TTL", func() bool { return lease.Deadline().Sub(granted) > 3*time.Second })
	cancel()
	if err := receive(t, "Run to return", result); err != nil {
		t.Errorf("Run: got %v, want nil", err)
	}
	for range 2 { // the second call finds it gone
		if err := lease.Revoke(call(t)); err != nil {
			t.Errorf("Revoke: got %v, want nil", err)
		}
	}
	go func() { result <- lease.Run(call(t)) }()
	if err := receive(t, "Run to notice", result); !errors.Is(err, ErrLeaseGone) {
		t.Errorf("Run of a revoked lease: got %v, want ErrLeaseGone", err)
	}
}
