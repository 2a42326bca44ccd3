package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store/mem"
)

// asked returns a context for one request of alice.
func asked(ctx context.Context, verb string) context.Context {
	return WithAudit(ctx, job.Audit{At: epoch, Verb: verb, Author: job.Author{Principal: "alice", How: "token", Token: "t1"}})
}

func TestEachChangeByAClientLeavesOneAuditRecord(t *testing.T) {
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s := open(t, c)
		ctx := within(t)
		var j job.Job
		var l job.Limit
		changes := []struct {
			verb, object string
			change       func(ctx context.Context) (rev int64, err error)
		}{
			{"put-job", "jobs j", func(ctx context.Context) (int64, error) {
				made, err := s.PutJob(ctx, definition("j"))
				j = made
				return made.Rev, err
			}},
			{"pause-job", "jobs j", func(ctx context.Context) (int64, error) {
				j.Paused = &job.Pause{By: "alice", At: epoch}
				made, err := s.PutJob(ctx, j)
				j = made
				return made.Rev, err
			}},
			{"put-limit", "limits db", func(ctx context.Context) (int64, error) {
				made, err := s.PutLimit(ctx, job.Limit{Name: "db", Origin: job.Origin{Kind: job.OriginAPI}, Generation: 1, Updated: epoch, Spec: job.LimitSpec{Concurrent: 1}})
				l = made
				return made.Rev, err
			}},
			{"delete-limit", "limits db", func(ctx context.Context) (int64, error) { return 0, s.DeleteLimit(ctx, "db", l.Rev) }},
			{"submit-run", "runs j/one", func(ctx context.Context) (int64, error) {
				r := *slot("j", 1)
				r.ID = "one"
				made, err := s.Submit(ctx, r)
				return made.Rev, err
			}},
			{"cancel-run", "runs j/one", func(ctx context.Context) (int64, error) {
				r, err := s.Run(ctx, "j", "one")
				if err != nil {
					return 0, err
				}
				r.State, r.Finished = job.Canceled, epoch
				made, err := s.Write(ctx, r)
				return made.Rev, err
			}},
			{"pause-all", "gate ", func(ctx context.Context) (int64, error) {
				g, err := s.PutGate(ctx, job.Gate{Paused: &job.Pause{At: epoch}})
				return g.Rev, err
			}},
			{"accept-restored-store", "era ", func(ctx context.Context) (int64, error) {
				seen, err := s.Accept(ctx, Observation{}, epoch, "alice")
				return seen.Revision, err
			}},
			{"delete-job", "jobs j", func(ctx context.Context) (int64, error) { return 0, s.DeleteJob(ctx, "j", j.Rev) }},
		}
		for i, change := range changes {
			rev, err := change.change(asked(ctx, change.verb))
			if err != nil {
				t.Fatalf("%s: %v", change.verb, err)
			}
			all, err := s.Audits(ctx, "", 100)
			if err != nil || len(all) != i+1 {
				t.Fatalf("after %s: %d records, %v, want %d", change.verb, len(all), err, i+1)
			}
			var a job.Audit // the ids of one millisecond are in no order
			for _, one := range all {
				if one.Verb == change.verb {
					a = one
				}
			}
			if got := string(a.Kind) + " " + a.Object; a.Principal != "alice" || a.Token != "t1" || got != change.object || rev != 0 && a.Rev != rev {
				t.Errorf("%s at revision %d: got %s in %+v", change.verb, rev, got, a)
			}
			if change.verb == "pause-job" && (len(a.Fields) != 1 || a.Fields[0].Name != "paused" || a.Before == 0) {
				t.Errorf("fields of the pause: %+v, before %d", a.Fields, a.Before)
			}
		}
	})
}

func TestChangesThatLeaveNoAuditRecord(t *testing.T) {
	s := open(t, fake(t, nil).Client())
	ctx := within(t)
	count := func() int {
		all, err := s.Audits(ctx, "", 100)
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	j, err := s.PutJob(ctx, definition("j"))
	if err != nil || count() != 0 {
		t.Errorf("a change of the cluster itself: %v, %d records", err, count())
	}
	stale := j
	stale.Rev = 1
	if _, err := s.PutJob(asked(ctx, "put-job"), stale); !errors.Is(err, job.ErrConflict) || count() != 0 {
		t.Errorf("a refused change: %v, %d records", err, count())
	}
	if _, err := s.Submit(WithoutAudit(asked(ctx, "submit-run")), *slot("j", 1)); err != nil || count() != 0 {
		t.Errorf("a change that is recorded elsewhere: %v, %d records", err, count())
	}
	request := asked(ctx, "backfill")
	for i := range 5 {
		if _, err := s.Submit(request, *slot("j", 2+i)); err != nil {
			t.Fatal(err)
		}
	}
	if n := count(); n != 1 {
		t.Errorf("one request with five changes left %d records, want 1", n)
	}
}

// A removal makes room in a full store. Its audit record would be refused.
func TestARemovalInAFullStoreLeavesNoAuditRecord(t *testing.T) {
	full := strike(mem.Verdict{Action: mem.Refuse, Err: rpctypes.ErrGRPCNoSpace})
	_, s, _ := scripted(t, nil, full)
	ctx := within(t)
	j, err := s.PutJob(ctx, definition("j"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteJob(asked(ctx, "delete-job"), "j", j.Rev); err != nil {
		t.Fatal(err)
	}
	if all, err := s.Audits(ctx, "", 10); err != nil || len(all) != 0 {
		t.Errorf("got %+v, %v", all, err)
	}
}

// The same for a token: a stolen one can be revoked although etcd is full.
func TestATokenIsRevokedInAFullStore(t *testing.T) {
	_, s, _ := scripted(t, nil, strike(mem.Verdict{Action: mem.Refuse, Err: rpctypes.ErrGRPCNoSpace}))
	ctx := within(t)
	if err := s.CreateToken(ctx, token("ci")); err != nil {
		t.Fatal(err)
	}
	_, rev, err := s.Token(ctx, "ci")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteToken(asked(ctx, "revoke-token"), "ci", rev); err != nil {
		t.Fatal(err)
	}
}

// loss ends the process of a client at random, just before or just after its request takes effect.
type loss struct {
	random *rand.Rand
	die    atomic.Pointer[context.CancelFunc]
}

func (l *loss) Before(op mem.Op) mem.Verdict {
	die := l.die.Load()
	if op.Kind != mem.Txn || die == nil {
		return mem.Verdict{}
	}
	switch l.random.IntN(3) {
	case 0:
		(*die)()
		return mem.Verdict{Action: mem.Lose}
	case 1:
		(*die)()
		return mem.Verdict{Action: mem.Refuse}
	}
	return mem.Verdict{}
}

func TestAChangeAndItsAuditRecordBothExistOrNeither(t *testing.T) {
	faults := &loss{random: rand.New(rand.NewPCG(1, 2))}
	s := open(t, fake(t, faults).Client())
	ctx := within(t)
	for i := range 100 {
		name := fmt.Sprintf("j%d", i)
		try, cancel := context.WithCancel(ctx)
		faults.die.Store(&cancel)
		_, _ = s.PutJob(asked(try, "put-job"), definition(name)) // its outcome may be unknown, as after a kill
		faults.die.Store(nil)
		cancel()
	}
	eventually(t, "no write is under way", func() bool {
		s.free.mu.Lock()
		defer s.free.mu.Unlock()
		return s.free.inFlight == 0
	})
	all, err := s.Audits(ctx, "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	recorded := map[string]int64{}
	for _, a := range all {
		recorded[a.Object] = a.Rev
	}
	made := 0
	for i := range 100 {
		name := fmt.Sprintf("j%d", i)
		j, err := s.Job(ctx, name)
		switch {
		case errors.Is(err, job.ErrNotFound):
			if recorded[name] != 0 {
				t.Errorf("%s does not exist, but its audit record does", name)
			}
		case err != nil:
			t.Fatal(err)
		case recorded[name] != j.Rev:
			t.Errorf("%s is at revision %d, its audit record at %d", name, j.Rev, recorded[name])
		default:
			made++
		}
	}
	if made == 0 || made == 100 {
		t.Errorf("%d of 100 changes took place: the faults tested nothing", made)
	}
}

func TestTheAuditTrailIsBounded(t *testing.T) {
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s := open(t, c)
		ctx := within(t)
		term := reign(t, c, "q1")
		for i := range 40 {
			verb, name := "put-job", fmt.Sprintf("j%02d", i)
			at := epoch.Add(time.Duration(i) * time.Minute)
			request := WithAudit(ctx, job.Audit{At: at, Verb: verb})
			if i%2 == 1 {
				request = WithAudit(ctx, job.Audit{At: at, Verb: job.VerbSubmitRun})
			}
			if _, err := s.PutJob(request, definition(name)); err != nil {
				t.Fatal(err)
			}
		}
		left := func() string {
			all, err := s.Audits(ctx, "", 100)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, a := range all {
				names = append(names, a.Object)
			}
			return strings.Join(names, " ")
		}
		for _, step := range []struct {
			before time.Time
			keep   int
			want   string
		}{
			{epoch.Add(32 * time.Minute), 100, "j39 j38 j37 j36 j35 j34 j33 j32"},
			{epoch, 6, "j39 j38 j37 j36 j34 j32"},
			{epoch, 3, "j38 j36 j34"},
			{epoch, 2, "j38 j36"},
		} {
			if _, err := s.SweepAudit(ctx, term, step.before, step.keep); err != nil {
				t.Fatal(err)
			}
			if got := left(); got != step.want {
				t.Errorf("before %v, at most %d: got %s, want %s", step.before, step.keep, got, step.want)
			}
		}
		if _, err := s.SweepAudit(ctx, election.Term{}, epoch, 0); !errors.Is(err, election.ErrTermLost) {
			t.Errorf("without a term: got %v", err)
		}
		page, err := s.Audits(ctx, "", 1)
		if err != nil || len(page) != 1 || page[0].Object != "j38" {
			t.Fatalf("first page: %+v, %v", page, err)
		}
		if page, err = s.Audits(ctx, page[0].ID, 5); err != nil || len(page) != 1 || page[0].Object != "j36" {
			t.Errorf("second page: %+v, %v", page, err)
		}
	})
}
