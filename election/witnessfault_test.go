package election

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/store/mem"
)

// fakeElection is an election in memory with a witness. A test decides which requests etcd refuses and which processes die.
type fakeElection struct {
	etcd    *mem.Server
	client  *clientv3.Client
	witness *Witness

	mu      sync.Mutex
	refuse  func(mem.Op) bool        // nil: etcd refuses nothing
	dead    map[string]chan struct{} // by address: closed when the process is dead
	watched []string                 // addresses, in the order in which the witness dials them
	answers bool                     // a process listens at the address of the dead one
}

const fakePrefix = "/rota/election/"

// withWitness runs a test in a bubble, with a witness called w.
func withWitness(t *testing.T, test func(t *testing.T, d *fakeElection)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := &fakeElection{dead: make(map[string]chan struct{})}
		d.etcd = mem.New(mem.Config{Faults: mem.FaultFunc(d.verdict)})
		t.Cleanup(func() { _ = d.etcd.Close() })
		d.client = d.etcd.Client()
		d.witness = NewWitness(WitnessConfig{
			Prefix: fakePrefix, Name: "w", Limit: "/rota/takeover", Signs: []string{"/rota/workers/"}, Await: d.await,
			Answers: func(context.Context, string) bool {
				d.mu.Lock()
				defer d.mu.Unlock()
				return d.answers
			},
		}, d.etcd.Client(), hclog.NewNullLogger())
		test(t, d)
	})
}

func (d *fakeElection) verdict(op mem.Op) mem.Verdict {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refuse != nil && d.refuse(op) && op.Client != d.client { // the test's own requests succeed
		return mem.Verdict{Action: mem.Refuse}
	}
	return mem.Verdict{}
}

func (d *fakeElection) refusing(refuse func(mem.Op) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refuse = refuse
}

// await proves only a death that happens after the call, like AwaitDeath.
func (d *fakeElection) await(ctx context.Context, addr string) bool {
	d.mu.Lock()
	d.watched = append(d.watched, addr)
	dead := d.dead[addr]
	d.mu.Unlock()
	return closedAfterCall(ctx, dead)
}

// enter puts a candidate with a sign of life into the queue.
func (d *fakeElection) enter(t *testing.T, name string) (key string) {
	t.Helper()
	addr := name + ":1"
	d.mu.Lock()
	d.dead[addr] = make(chan struct{})
	d.mu.Unlock()
	lease, err := d.client.Grant(t.Context(), 3600)
	if err != nil {
		t.Fatal(err)
	}
	key = fakePrefix + name
	for k, v := range map[string]string{key: fmt.Sprintf(`{"node":%q,"addr":%q}`, name, addr), "/rota/workers/" + name: "alive"} {
		if _, err := d.client.Put(t.Context(), k, v, clientv3.WithLease(lease.ID)); err != nil {
			t.Fatal(err)
		}
	}
	return key
}

// dialled returns the addresses that the witness has dialled.
func (d *fakeElection) dialled() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.watched)
}

func (d *fakeElection) die(name string) { close(d.dead[name+":1"]) }

// exists reports whether a key exists.
func (d *fakeElection) exists(t *testing.T, key string) bool {
	t.Helper()
	resp, err := d.client.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return resp.Count == 1
}

// pass lets a time of the bubble pass.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestAProofOfDeathSurvivesAnOutageOfEtcd(t *testing.T) {
	for name, answers := range map[string]bool{"while the process is dead": false, "unless a process answers in its place": true} {
		t.Run(name, func(t *testing.T) {
			withWitness(t, func(t *testing.T, d *fakeElection) {
				key := d.enter(t, "a")
				background(t, d.witness.Run)
				pass(time.Second / 2)
				d.refusing(func(mem.Op) bool { return true }) // etcd ran on the same machine
				d.die("a")
				pass(4 * endTimeout)
				d.mu.Lock()
				d.answers = answers
				d.mu.Unlock()
				if !d.exists(t, key) {
					t.Fatal("the term ended while etcd refused everything")
				}
				d.refusing(nil)
				pass(time.Second / 2)
				if got := d.exists(t, key); got != answers {
					t.Errorf("the term stands: got %v, want %v", got, answers)
				}
			})
		})
	}
}

func TestASignOfLifeSurvivesAFailedRead(t *testing.T) {
	withWitness(t, func(t *testing.T, d *fakeElection) {
		key := d.enter(t, "a")
		background(t, d.witness.Run)
		pass(time.Second / 2)
		d.refusing(func(op mem.Op) bool {
			r, ok := op.Request.(*pb.RangeRequest)
			return ok && strings.HasPrefix(string(r.Key), "/rota/workers/")
		})
		pass(3 * witnessPoll)
		d.die("a")
		pass(time.Second / 2)
		if d.exists(t, key) || d.exists(t, "/rota/workers/a") {
			t.Error("the term or the sign of life of the dead process remains")
		}
	})
}

// TestAnIdleWitnessReadsSeldom counts the reads of a leader that the witness watches, and of its own process.
func TestAnIdleWitnessReadsSeldom(t *testing.T) {
	// Each reads the leader, and once before its watch begins again. Of another leader, it also reads a sign of life.
	for leader, most := range map[string]int64{"a": 2*30 + 1, "w": 6 + 1} {
		withWitness(t, func(t *testing.T, d *fakeElection) {
			d.enter(t, leader)
			background(t, d.witness.Run)
			pass(time.Second / 2)
			var reads atomic.Int64
			d.refusing(func(op mem.Op) bool {
				if _, ok := op.Request.(*pb.RangeRequest); ok {
					reads.Add(1)
				}
				return false
			})
			pass(30 * time.Second)
			if got := reads.Load(); got > most || got == 0 {
				t.Errorf("leader %s: got %d reads in 30 s, want 1 to %d", leader, got, most)
			}
		})
	}
}

func TestTheNextLeaderIsWatchedAtOnce(t *testing.T) {
	for name, test := range map[string]struct {
		deaf bool
		by   time.Duration
	}{"by a watch": {false, 10 * time.Millisecond}, "soon, if the watch hangs": {true, witnessPoll + witnessPause}} {
		t.Run(name, func(t *testing.T) {
			withWitness(t, func(t *testing.T, d *fakeElection) {
				a, b := d.enter(t, "a"), d.enter(t, "b")
				background(t, d.witness.Run)
				pass(time.Second / 2)
				if test.deaf {
					d.etcd.StallWatches(d.witness.client)
				}
				if _, err := d.client.Delete(t.Context(), a); err != nil { // a resigns
					t.Fatal(err)
				}
				pass(test.by)
				d.die("b")
				pass(time.Second / 2)
				if got, want := d.dialled(), []string{"a:1", "b:1"}; !slices.Equal(got, want) {
					t.Errorf("dialled %v, want %v", got, want)
				}
				if d.exists(t, b) {
					t.Error("the next leader's death was not proven")
				}
			})
		})
	}
}

// TestAnAddressThatRefusesIsNotDialledTooOften has a leader that is dead before the witness starts.
func TestAnAddressThatRefusesIsNotDialledTooOften(t *testing.T) {
	withWitness(t, func(t *testing.T, d *fakeElection) {
		d.enter(t, "a")
		d.die("a")
		background(t, d.witness.Run)
		pass(10*witnessPause - 1)
		if got := len(d.dialled()); got != 10 {
			t.Errorf("dialled %d times, want 10", got)
		}
	})
}

// A term that is over is not ended again, and forbids no other takeover.
func TestATermThatIsOverSetsNoLimit(t *testing.T) {
	t.Parallel()
	client := dial(t)
	c := contenderFor(t, client, "a")
	w := NewWitness(WitnessConfig{Prefix: prefixOf(t), Name: "b", Limit: "/" + t.Name() + "/limit"}, client, hclog.NewNullLogger())
	stale := Holder{Term: Term{Key: c.key.Key, Rev: c.key.Rev - 1}, Candidate: Candidate{Node: "a"}}
	if v, err := w.tryForce(call(t), stale, nil, "{}"); err != nil || v != over {
		t.Errorf("got %v, %v, want that the term is over", v, err)
	}
	if resp, err := client.Get(call(t), w.cfg.Limit); err != nil || len(resp.Kvs) != 0 {
		t.Errorf("the limit is set, or %v", err)
	}
	if keys := queue(t, client); len(keys) != 1 || keys[0] != c.key {
		t.Errorf("the queue is %v, want %v", keys, c.key)
	}
}
