package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/executor/handler"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
	"github.com/rota-scheduler/rota/store"
)

// ledger records which slots were executed, and how late.
type ledger struct {
	jobs     []jobSlots
	late     latencies
	from, to time.Time // late and begun count only attempts that start in this interval
	begun    atomic.Int64
	all      atomic.Int64
	last     atomic.Int64 // start of the latest attempt, in Unix nanoseconds
}

// jobSlots are the executed slots of one job.
type jobSlots struct {
	offset time.Duration // jitter of the job

	mu       sync.Mutex
	slots    map[int64]int // guarded by mu: attempts by slot
	repeated int           // guarded by mu
}

// handlerName is the handler of all jobs.
const handlerName = "bench"

// The name of a job is jobPrefix and the job's number.
const jobPrefix = "bench-"

// newJob returns the job with number i.
func newJob(i int, spec job.Spec) job.Job {
	spec.Handler = handlerName
	j, _ := job.Define(nil, jobPrefix+strconv.Itoa(i), spec, job.Origin{Kind: job.OriginAPI}, time.Now().UTC())
	return j
}

// newLedger returns a ledger for n jobs. define returns the job with number i.
func newLedger(n int, define func(i int) job.Job) (*ledger, error) {
	l := &ledger{jobs: make([]jobSlots, n)}
	for i := range l.jobs {
		j := define(i)
		when, err := policy.When(j.Name, j.Spec)
		if err != nil {
			return nil, err
		}
		l.jobs[i].offset = when.Offset()
		l.jobs[i].slots = make(map[int64]int)
	}
	return l, nil
}

// execute is the handler of all jobs: it only writes to the ledger.
func (l *ledger) execute(_ context.Context, t handler.Task) error {
	now := time.Now()
	i, err := strconv.Atoi(strings.TrimPrefix(t.Job, jobPrefix))
	if err != nil || i >= len(l.jobs) {
		return handler.Permanent(fmt.Errorf("no job of ours: %s", t.Job))
	}
	j := &l.jobs[i]
	j.mu.Lock()
	j.slots[t.Slot.UnixNano()]++
	if j.slots[t.Slot.UnixNano()] > 1 {
		j.repeated++
	}
	j.mu.Unlock()
	l.all.Add(1)
	l.last.Store(now.UnixNano())
	if !now.Before(l.from) && now.Before(l.to) {
		l.begun.Add(1)
		l.late.add(now.Sub(t.Slot.Add(j.offset)))
	}
	return nil
}

// await waits until this many runs have started. It returns an error at limit.
func (l *ledger) await(ctx context.Context, runs int, limit time.Time) error {
	for l.all.Load() < int64(runs) {
		if time.Now().After(limit) || ctx.Err() != nil {
			return fmt.Errorf("only %d of %d runs have begun", l.all.Load(), runs)
		}
		// A poll with a deadline.
		time.Sleep(5 * time.Millisecond)
	}
	return nil
}

// check compares the executions with the slots of the jobs. Each job has a slot at first, and then one each every, before end.
func (l *ledger) check(first, end time.Time, every time.Duration) (want, missing, repeated int) {
	for i := range l.jobs {
		j := &l.jobs[i]
		j.mu.Lock()
		repeated += j.repeated
		for slot := first; slot.Before(end); slot = slot.Add(every) {
			want++
			if j.slots[slot.UnixNano()] == 0 {
				missing++
			}
		}
		j.mu.Unlock()
	}
	return want, missing, repeated
}

// settled reads the store. behind is the number of jobs whose cursor is before the slot last. states counts the kept runs by
// state. events are those of the jobs, not those of the cluster.
func settled(
	ctx context.Context, list []member, n int, last time.Time,
) (behind int, states map[job.State]int, events []job.Event, err error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"http://" + list[0].client}, DialTimeout: 5 * time.Second})
	if err != nil {
		return 0, nil, nil, err
	}
	defer client.Close()
	s := store.New(store.Config{Prefix: "/rota", Process: "bench-reader"}, client, hclog.NewNullLogger())
	defer s.Close()
	records, _, err := s.Snapshot(ctx)
	if err != nil {
		return 0, nil, nil, err
	}
	behind, states = n, make(map[job.State]int)
	for _, c := range records {
		if c.Bad != nil {
			return 0, nil, nil, fmt.Errorf("%s/%s: %w", c.Kind, c.Name, c.Bad)
		}
		switch v := c.Value.(type) {
		case *job.Cursor:
			if !v.After.Before(last) {
				behind--
			}
		case *job.Run:
			states[v.State]++
		case *job.Event:
			if v.Job != job.ClusterEvents {
				events = append(events, *v)
			}
		}
	}
	return behind, states, events, nil
}
