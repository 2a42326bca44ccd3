package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store/embedded"
	"github.com/rota-scheduler/rota/store/mem"
	"github.com/rota-scheduler/rota/test/leaks"
	"github.com/rota-scheduler/rota/test/poll"
)

func TestMain(m *testing.M) { os.Exit(leaks.Run(m)) }

// everywhere runs a test on the etcd in memory and on a real one.
func everywhere(t *testing.T, test func(t *testing.T, c *clientv3.Client)) {
	t.Run("mem", func(t *testing.T) {
		t.Parallel()
		test(t, fake(t, nil).Client())
	})
	t.Run("etcd", func(t *testing.T) {
		t.Parallel()
		test(t, etcd(t, embedded.Config{NoSync: true}).Client())
	})
}

func fake(t testing.TB, faults mem.Faults) *mem.Server {
	s := mem.New(mem.Config{Faults: faults})
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// etcd starts a real etcd in this process.
func etcd(t testing.TB, cfg embedded.Config) *embedded.Server {
	t.Helper()
	cfg.Dir = t.TempDir()
	if cfg.Client == "" {
		cfg.Client = "http://127.0.0.1:0"
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	s, err := embedded.Start(ctx, cfg, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

const prefix = "/rota"

var processes struct {
	sync.Mutex
	n int
}

// open returns a store with a process name of its own.
func open(t testing.TB, c *clientv3.Client) *Store {
	processes.Lock()
	defer processes.Unlock()
	processes.n++
	s := New(Config{Prefix: prefix, Process: fmt.Sprint("p", processes.n)}, c, hclog.NewNullLogger())
	t.Cleanup(s.Close)
	return s
}

// within returns a context for one test. It ends after 20 s.
func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// reign starts a term: it creates an election key, which stays until the test deletes it.
func reign(t testing.TB, c *clientv3.Client, name string) election.Term {
	t.Helper()
	key := prefix + "/election/" + name
	resp, err := c.Put(within(t), key, "{}")
	if err != nil {
		t.Fatal(err)
	}
	return election.Term{Key: key, Rev: resp.Header.Revision}
}

// commit commits decisions and waits for all answers.
func commit(t testing.TB, s *Store, term election.Term, ds ...job.Decision) []job.Applied {
	t.Helper()
	ctx := within(t)
	out := make([]job.Applied, len(ds))
	var wg sync.WaitGroup
	wg.Add(len(ds))
	s.Commit(ctx, term, ds, func(i int, a job.Applied) { out[i] = a; wg.Done() })
	wg.Wait()
	return out
}

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// slot returns the pending run of the n-th slot of a job.
func slot(jobName string, n int) *job.Run {
	at := epoch.Add(time.Duration(n) * time.Minute)
	return &job.Run{Job: jobName, ID: job.SlotID(at), Kind: job.KindScheduled, Slot: at, Due: at, State: job.Pending, Created: epoch}
}

// given returns r, armed on a worker.
func given(r *job.Run, worker string) *job.Run {
	a, err := r.Assign(&job.Worker{Name: worker, Session: "s-" + worker})
	if err != nil {
		panic(err)
	}
	return &a
}

func cursor(r *job.Run, rev int64) *job.Cursor {
	return &job.Cursor{Job: r.Job, After: r.Slot, Next: r.Slot.Add(time.Minute), Generation: 1, Rev: rev}
}

// fire returns the decision that creates the run of a slot and moves the cursor.
func fire(r *job.Run, cursorRev int64) job.Decision {
	return job.Decision{Job: r.Job, Run: r, Cursor: cursor(r, cursorRev)}
}

func definition(name string) job.Job {
	return job.Job{
		Name: name, Origin: job.Origin{Kind: job.OriginAPI}, Generation: 1, Created: epoch, Updated: epoch,
		Since: epoch, SinceReason: job.SinceCreated, Spec: new(job.Spec{Command: []string{"true"}}.WithDefaults()),
	}
}

var eventually = poll.Until

// value returns the value of a key, "" if there is no such key.
func value(t testing.TB, c *clientv3.Client, key string) string {
	t.Helper()
	resp, err := c.Get(within(t), key)
	if err != nil {
		t.Fatal(err)
	}
	if len(resp.Kvs) == 0 {
		return ""
	}
	return string(resp.Kvs[0].Value)
}

func put(t testing.TB, c *clientv3.Client, key, value string) int64 {
	t.Helper()
	resp, err := c.Put(within(t), key, value)
	if err != nil {
		t.Fatal(err)
	}
	return resp.Header.Revision
}

func remove(t testing.TB, c *clientv3.Client, key string) int64 {
	t.Helper()
	resp, err := c.Delete(within(t), key)
	if err != nil {
		t.Fatal(err)
	}
	return resp.Header.Revision
}

var nullLog = hclog.NewNullLogger()

func contextWithTimeout(t testing.TB, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), d)
}

// isUnknown reports whether an error leaves open whether the write took place.
func isUnknown(err error) bool { return errors.Is(err, job.ErrOutcomeUnknown) }
