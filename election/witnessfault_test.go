package election

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/store/mem"
)

// deathbed is an election in memory with a witness, whose etcd may refuse and whose processes die when they are told to.
type deathbed struct {
	etcd    *mem.Server
	client  *clientv3.Client
	witness *Witness

	mu      sync.Mutex
	refuse  func(mem.Op) bool        // nil: etcd takes everything
	dead    map[string]chan struct{} // by address: closed when the process is dead
	watched []string                 // addresses, in the order in which the witness dialled them
	answers bool                     // somebody listens in the dead one's place
}

const deathbedPrefix = "/rota/election/"

// bed runs a test in a bubble, with a witness called w beside the candidates.
func bed(t *testing.T, test func(t *testing.T, d *deathbed)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := &deathbed{dead: make(map[string]chan struct{})}
		d.etcd = mem.New(mem.Config{Faults: mem.FaultFunc(d.verdict)})
		t.Cleanup(func() { _ = d.etcd.Close() })
		d.client = d.etcd.Client()
		d.witness = NewWitness(WitnessConfig{
			Prefix: deathbedPrefix, Name: "w", Limit: "/rota/takeover", Signs: []string{"/rota/workers/"}, Await: d.await,
			Answers: func(context.Context, string) bool {
				d.mu.Lock()
				defer d.mu.Unlock()
				return d.answers
			},
		}, d.etcd.Client(), hclog.NewNullLogger())
		test(t, d)
	})
}

func (d *deathbed) verdict(op mem.Op) mem.Verdict {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refuse != nil && d.refuse(op) && op.Client != d.client { // the test's own requests get through
		return mem.Verdict{Action: mem.Refuse}
	}
	return mem.Verdict{}
}

func (d *deathbed) refusing(refuse func(mem.Op) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refuse = refuse
}

// await proves nothing of one that is dead already, like AwaitDeath.
func (d *deathbed) await(ctx context.Context, addr string) bool {
	d.mu.Lock()
	d.watched = append(d.watched, addr)
	dead := d.dead[addr]
	d.mu.Unlock()
	return seenToDie(ctx, dead)
}

// stand puts a candidate into the queue, with a sign of life.
func (d *deathbed) stand(t *testing.T, name string) (key string) {
	t.Helper()
	addr := name + ":1"
	d.mu.Lock()
	d.dead[addr] = make(chan struct{})
	d.mu.Unlock()
	lease, err := d.client.Grant(t.Context(), 3600)
	if err != nil {
		t.Fatal(err)
	}
	key = deathbedPrefix + name
	for k, v := range map[string]string{key: fmt.Sprintf(`{"node":%q,"addr":%q}`, name, addr), "/rota/workers/" + name: "alive"} {
		if _, err := d.client.Put(t.Context(), k, v, clientv3.WithLease(lease.ID)); err != nil {
			t.Fatal(err)
		}
	}
	return key
}

// connected are the addresses that were dialled so far.
func (d *deathbed) connected() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.watched)
}

func (d *deathbed) die(name string) { close(d.dead[name+":1"]) }

// stands says whether there is such a key.
func (d *deathbed) stands(t *testing.T, key string) bool {
	t.Helper()
	resp, err := d.client.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return resp.Count == 1
}

// pass lets time go by.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestAProofOfDeathOutlastsAnOutageOfEtcd(t *testing.T) {
	for name, answers := range map[string]bool{"while the process is dead": false, "unless somebody answers in its place": true} {
		t.Run(name, func(t *testing.T) {
			bed(t, func(t *testing.T, d *deathbed) {
				key := d.stand(t, "a")
				background(t, d.witness.Run)
				pass(time.Second / 2)
				d.refusing(func(mem.Op) bool { return true }) // the process led etcd as well
				d.die("a")
				pass(4 * endTimeout)
				d.mu.Lock()
				d.answers = answers
				d.mu.Unlock()
				if !d.stands(t, key) {
					t.Fatal("the term ended while etcd took nothing")
				}
				d.refusing(nil)
				pass(time.Second / 2)
				if got := d.stands(t, key); got != answers {
					t.Errorf("the term stands: got %v, want %v", got, answers)
				}
			})
		})
	}
}

func TestASignOfLifeOutlastsAReadThatFails(t *testing.T) {
	bed(t, func(t *testing.T, d *deathbed) {
		key := d.stand(t, "a")
		background(t, d.witness.Run)
		pass(time.Second / 2)
		d.refusing(func(op mem.Op) bool {
			r, ok := op.Request.(*pb.RangeRequest)
			return ok && strings.HasPrefix(string(r.Key), "/rota/workers/")
		})
		pass(3 * witnessPoll)
		d.die("a")
		pass(time.Second / 2)
		if d.stands(t, key) || d.stands(t, "/rota/workers/a") {
			t.Error("the dead process's term or its sign of life stands")
		}
	})
}

func TestTheNextLeaderIsWatchedAtOnce(t *testing.T) {
	for name, test := range map[string]struct {
		deaf bool
		by   time.Duration
	}{"by the watch": {false, 10 * time.Millisecond}, "or soon, if that is deaf": {true, witnessPoll + witnessPause}} {
		t.Run(name, func(t *testing.T) {
			bed(t, func(t *testing.T, d *deathbed) {
				a, b := d.stand(t, "a"), d.stand(t, "b")
				background(t, d.witness.Run)
				pass(time.Second / 2)
				if test.deaf {
					d.etcd.StallWatches(d.witness.client)
				}
				if _, err := d.client.Delete(t.Context(), a); err != nil { // it hands over
					t.Fatal(err)
				}
				pass(test.by)
				d.die("b")
				pass(time.Second / 2)
				if got, want := d.connected(), []string{"a:1", "b:1"}; !slices.Equal(got, want) {
					t.Errorf("dialled %v, want %v", got, want)
				}
				if d.stands(t, b) {
					t.Error("the next leader's death was not proven")
				}
			})
		})
	}
}

// TestAnAddressThatRefusesIsNotDialledTooOften has a leader that is dead already when the witness comes.
func TestAnAddressThatRefusesIsNotDialledTooOften(t *testing.T) {
	bed(t, func(t *testing.T, d *deathbed) {
		d.stand(t, "a")
		d.die("a")
		background(t, d.witness.Run)
		pass(10*witnessPause - 1)
		if got := len(d.connected()); got != 10 {
			t.Errorf("dialled %d times, want 10", got)
		}
	})
}
