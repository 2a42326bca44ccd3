package store

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store/mem"
)

func TestATermThatEndsBetweenTwoSendings(t *testing.T) {
	var c *clientv3.Client
	var term election.Term
	_, s, c2 := scripted(t, strike(mem.Verdict{Action: mem.Refuse}), func(mem.Op) mem.Verdict {
		remove(t, c, term.Key)
		return mem.Verdict{}
	})
	c = c2
	term = reign(t, c, "a")
	r := slot("j", 1)
	if a := commit(t, s, term, fire(r, 0))[0]; !errors.Is(a.Err, election.ErrTermLost) {
		t.Errorf("got %v, want %v", a.Err, election.ErrTermLost)
	}
	if got := value(t, c, s.keys.run(r.Job, r.ID)); got != "" {
		t.Errorf("written: %s", got)
	}
}

func TestOutOfSpaceAfterAnUnansweredSendingIsUnknown(t *testing.T) {
	full := mem.Verdict{Action: mem.Refuse, Err: rpctypes.ErrGRPCNoSpace}
	late := mem.Verdict{Action: mem.Late}
	ctx := context.Background()
	t.Run("refused", func(t *testing.T) {
		_, s, _ := scripted(t, strike(full))
		if _, err := s.Submit(ctx, *slot("j", 1)); !errors.Is(err, job.ErrFull) || isUnknown(err) {
			t.Errorf("got %v, want a definite %v", err, job.ErrFull)
		}
	})
	t.Run("applied and then refused", func(t *testing.T) {
		_, s, _ := scripted(t, strike(mem.Verdict{Action: mem.Lose, Err: rpctypes.ErrGRPCNoSpace}))
		r, err := s.Submit(ctx, *slot("j", 1))
		if got, err2 := s.Run(ctx, r.Job, r.ID); err != nil || err2 != nil || got.Rev != r.Rev {
			t.Errorf("got %v, %v, revision %d and %d, want success", err, err2, r.Rev, got.Rev)
		}
	})
	t.Run("unanswered and then refused", func(t *testing.T) {
		srv, s, _ := scripted(t, strike(late), strike(full))
		if _, err := s.Submit(ctx, *slot("j", 1)); !errors.Is(err, job.ErrFull) || !isUnknown(err) {
			t.Errorf("got %v, want %v of unknown outcome", err, job.ErrFull)
		}
		srv.Release()
		if _, err := s.Run(ctx, "j", slot("j", 1).ID); err != nil {
			t.Errorf("the late write: %v", err)
		}
	})
}

func TestRefusalDoesNotSettleAnEarlierSending(t *testing.T) {
	denied := strike(mem.Verdict{Action: mem.Refuse, Err: rpctypes.ErrGRPCPermissionDenied})
	_, s, _ := scripted(t, denied)
	if _, err := s.Submit(t.Context(), *slot("j", 1)); !isCode(err, rpctypes.ErrPermissionDenied) {
		t.Errorf("first: got %v, want %v", err, rpctypes.ErrPermissionDenied)
	}
	_, s, _ = scripted(t, strike(mem.Verdict{Action: mem.Lose}), denied)
	if r, err := s.Submit(t.Context(), *slot("j", 1)); err != nil || r.Rev == 0 {
		t.Errorf("after a sending that was applied: got %v, want success", err)
	}
}

// If a conflict has no records, callers take them for removed. So a refusal with unknown records must not be a
// conflict.
func TestRefusalWithUnknownRecordsIsNoConflict(t *testing.T) {
	var unreadable, lose atomic.Bool
	s := open(t, fake(t, mem.FaultFunc(func(op mem.Op) mem.Verdict {
		r, ok := op.Request.(*pb.TxnRequest)
		switch {
		case !ok || len(r.Success) == 0:
		case r.Success[0].GetRequestRange() == nil && lose.CompareAndSwap(true, false):
			return mem.Verdict{Action: mem.Lose}
		case r.Success[0].GetRequestRange() != nil && unreadable.Load():
			return mem.Verdict{Action: mem.Refuse, Err: rpctypes.ErrGRPCInvalidAuthToken}
		}
		return mem.Verdict{}
	})).Client())
	term := reign(t, s.client, "a")
	r := slot("j", 1)
	if a := commit(t, s, term, fire(r, 0))[0]; a.Err != nil {
		t.Fatal(a.Err)
	}
	for _, want := range []bool{true, false} { // whether a conflict is expected
		unreadable.Store(!want)
		a := commit(t, s, term, fire(r, 0))[0]
		if got := errors.Is(a.Err, job.ErrConflict); a.Err == nil || got != want || (a.Run != nil) != want {
			t.Errorf("a decision: got %+v, want a conflict with the run: %v", a, want)
		}
		got, err := s.Submit(t.Context(), *r)
		if is := errors.Is(err, job.ErrConflict); err == nil || is != want || (got.Rev != 0) != want {
			t.Errorf("a submission: got %+v and %v, want a conflict with the run: %v", got, err, want)
		}
		if isUnknown(err) {
			t.Errorf("a submission that was refused at once: got %v, want a definite refusal", err)
		}
	}
	lose.Store(true) // the records are still unknown
	if _, err := s.Submit(t.Context(), *slot("j", 2)); !isUnknown(err) {
		t.Errorf("a submission after a sending that was applied: got %v, want an unknown outcome", err)
	}
}

func TestAbandonedWriteHasUnknownOutcome(t *testing.T) {
	srv, s, c := scripted(t, strike(mem.Verdict{Action: mem.Late, Hang: true}))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Submit(ctx, *slot("j", 1)); !errors.Is(err, context.DeadlineExceeded) || !isUnknown(err) {
		t.Errorf("got %v, want an unknown outcome", err)
	}
	s.Close()
	if value(t, c, s.keys.run("j", slot("j", 1).ID)) != "" {
		t.Error("written before its time")
	}
	srv.Release()
	if _, err := s.Submit(t.Context(), *slot("j", 2)); !errors.Is(err, context.Canceled) {
		t.Errorf("after Close: got %v, want %v", err, context.Canceled)
	}
}
