package cluster

import (
	"context"
	"hash/crc32"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
)

// vote is a decision that a person sent, and its answer.
type vote struct {
	run, who string
	approved bool
	status   int   // 0: no answer
	killed   int64 // the term whose leader was killed at the instant of the decision; 0: none was
}

// voters decide about the runs of a cluster.
type voters struct {
	c      *Cluster
	people map[string]*client.Client

	mu    sync.Mutex
	votes []vote // guarded by mu
}

func newVoters(c *Cluster, names ...string) *voters {
	v := &voters{c: c, people: map[string]*client.Client{}}
	var urls []string
	for _, n := range c.Replicas() {
		urls = append(urls, n.URL)
	}
	for _, who := range names {
		cl, err := client.New(client.Config{
			Servers: strings.Join(urls, ","), By: who, Timeout: 3 * time.Second, Transport: &http.Transport{IdleConnTimeout: time.Second},
		})
		if err != nil {
			c.t.Fatal(err)
		}
		c.t.Cleanup(cl.Close)
		v.people[who] = cl
	}
	return v
}

// waiting lists the runs that wait for a person. Of each five runs it leaves out one, about which nobody decides.
func (v *voters) waiting() (runs []string) {
	for name, r := range v.c.Recorder.Runs("") {
		if r.AwaitsApproval() && draw(name)%5 != 0 {
			runs = append(runs, name)
		}
	}
	slices.Sort(runs)
	return runs
}

// draw returns a number for a run, always the same, from which decisions about it are taken.
func draw(run string) uint32 { return crc32.ChecksumIEEE([]byte(run)) }

// decide sends the decision of a person about a run. A person always decides in the same way about the same run.
func (v *voters) decide(ctx context.Context, who, run string, killed int64) {
	w := vote{run: run, who: who, approved: len(who)%2 == 0 || draw(run)%3 != 0, killed: killed}
	act := v.people[who].Reject
	if w.approved {
		act = v.people[who].Approve
	}
	_, err := act(ctx, run, "the test")
	w.status = status(err)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.votes = append(v.votes, w)
}

// decideOn lets each person decide about random runs until ctx ends.
func (v *voters) decideOn(ctx context.Context, wg *sync.WaitGroup, random *rand.Rand) {
	for who := range v.people {
		mine := rand.New(rand.NewPCG(random.Uint64(), 1))
		done := map[string]bool{}
		wg.Go(func() {
			for ctx.Err() == nil {
				runs := slices.DeleteFunc(v.waiting(), func(run string) bool { return done[run] })
				if len(runs) == 0 {
					Within(time.Second, func() bool { return ctx.Err() != nil || len(v.waiting()) > 0 })
					continue
				}
				run := runs[mine.IntN(len(runs))]
				done[run] = true
				v.decide(ctx, who, run, 0)
			}
		})
	}
}

// TestApprovalsUnderKills kills the leader at the instant at which people decide. Each answered decision stands. Each run is
// decided by one person at most, and begins only after that.
func TestApprovalsUnderKills(t *testing.T) {
	slow(t)
	t.Parallel()
	const rounds, period, patience = 6, 5 * time.Second, 2 * time.Minute
	ledger := NewLedger(t)
	end := time.Now().Add(rounds*period + 30*time.Second).UTC().Truncate(time.Second)
	ask := &job.Approve{Within: job.Duration(10 * time.Second)}
	root := func(every time.Duration) job.Spec {
		return job.Spec{
			Shell: ledger.Shell("true"), Every: job.Duration(every), End: &end, Missed: job.MissedAll, MissedLimit: 1000, Overlap: job.OverlapAllow,
		}
	}
	pay, build := root(time.Second), root(2*time.Second)
	pay.Approve = ask
	step := func(parent string) job.Spec {
		return job.Spec{Shell: ledger.Shell("true"), After: []job.After{{Job: parent}}, Overlap: job.OverlapAllow}
	}
	deploy, tell := step("build"), step("deploy")
	deploy.Approve = ask
	c := Start(t, Config{Binary: binary, Jobs: map[string]job.Spec{"pay": pay, "build": build, "deploy": deploy, "tell": tell}})

	random := seeded(t)
	v := newVoters(c, "ann", "olga")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var wg sync.WaitGroup
	v.decideOn(ctx, &wg, random)
	for range rounds {
		Let(period)
		leader := c.Leader()
		cluster, err := leader.Client.Cluster(ctx)
		if err != nil || cluster.Leader == nil {
			t.Fatalf("the leader does not name its term: %v", err)
		}
		var runs []string
		Await(t, 20*time.Second, "runs wait for a person", func() bool { runs = v.waiting(); return len(runs) > 0 })
		for i, run := range runs[:min(4, len(runs))] {
			wg.Go(func() { v.decide(ctx, []string{"ann", "olga"}[i%2], run, cluster.Leader.Term) })
		}
		Let(time.Duration(random.IntN(6)) * time.Millisecond) // the decisions are on their way
		leader.Kill()
		leader.Start()
		leader.WaitReady()
	}
	c.AwaitEnd(time.Until(end) + patience)
	stop()
	wg.Wait()
	Await(t, patience, "every step is decided", func() bool { return c.undecidedSteps() == 0 && len(c.live()) == 0 })
	c.Judge(ledger.Effects(), nil, func(*history.Job) {})

	seen, between := v.check(t)
	if between == 0 {
		t.Error("no decision came between two leaders: the fault took no effect")
	}
	if seen["approved"] < rounds || seen["rejected"] == 0 || seen["expired"] == 0 || seen["refused"] == 0 {
		t.Errorf("of each kind, there must be some: %v", seen)
	}
	t.Logf("%v; %d decisions came between two leaders", seen, between)
	c.Verify()
}

// check compares the answers with the records. between counts the decisions that were sent while their leader was killed, and that
// had no answer or whose run was written by a later leader.
func (v *voters) check(t *testing.T) (seen map[string]int, between int) {
	seen = map[string]int{}
	runs := v.c.Recorder.Runs("")
	for name, r := range runs {
		switch a := r.Approval; {
		case a == nil:
		case a.At.IsZero():
			seen["expired"]++
		case a.Approved:
			seen["approved"]++
		default:
			seen["rejected"]++
		}
		if r.Approval == nil && (r.Job == "pay" || r.Job == "deploy" && r.State != job.Skipped) {
			t.Errorf("run %s asked nobody: %s %s", name, r.State, r.Reason)
		}
	}
	for _, w := range v.votes {
		r := runs[w.run]
		a := r.Approval
		mine := a != nil && a.Who == w.who+" from 127.0.0.1" && a.Approved == w.approved && !a.At.IsZero()
		switch {
		case w.status == http.StatusOK && !mine:
			t.Errorf("the decision of %s about %s was accepted, and the record has %+v", w.who, w.run, a)
		case w.status == http.StatusConflict && mine:
			t.Errorf("the decision of %s about %s was refused, and the record has it", w.who, w.run)
		case w.status == http.StatusConflict:
			seen["refused"]++
		case w.status == 0:
			seen["unanswered"]++
		case w.status != http.StatusOK && w.status < 500:
			t.Errorf("the decision of %s about %s was answered with %d", w.who, w.run, w.status)
		}
		if w.killed != 0 && (w.status == 0 || mine && r.Term > w.killed) {
			between++
		}
	}
	if len(v.votes) == 0 {
		t.Error("nobody decided")
	}
	return seen, between
}
