package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// floored is the benchmark of etcd alone. It writes the transactions of runs, without planning, execution or watch. A scheduler
// that writes the same cannot be faster on the same machine.
type floored struct {
	lasts   time.Duration
	writers int
	few     bool
}

func floor() benchmark {
	var b floored
	return benchmark{
		name: "floor", usage: "etcd alone, with the transactions that runs are made of, and nothing else",
		flags: func(f *flag.FlagSet) {
			f.DurationVar(&b.lasts, "for", 5*time.Second, "how long is measured")
			f.IntVar(&b.writers, "writers", 6, "how many transactions are under way at a time")
			f.BoolVar(&b.few, "few", false, "less than what keeps a run from happening twice: one guard for a decision, no orders, no claims")
		},
		run: b.run,
	}
}

func (b *floored) run(ctx context.Context, o *options) (err error) {
	fmt.Printf("floor: %d writers, %d members\n", b.writers, o.members)
	limit, cost, err := o.etcdLimit(ctx)
	if err != nil {
		return err
	}
	list, err := members(filepath.Join(o.dir, "floor"), o.members)
	if err != nil {
		return err
	}
	servers, stop, err := etcds(ctx, list)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if _, err := servers[0].Client().Put(ctx, floorTerm, "x"); err != nil {
		return err
	}
	profiled, err := o.profiled()
	if err != nil {
		return err
	}
	defer profiled()
	ctx, cancel := context.WithTimeout(ctx, b.lasts)
	defer cancel()
	var runs atomic.Int64
	failures := make(chan error, b.writers)
	began, used := time.Now(), usage()
	var wg sync.WaitGroup
	for i := range b.writers {
		kv, ok := servers[i%len(servers)].Client().KV.(interface{ Service() pb.KVClient })
		if !ok {
			return errors.New("the client of an embedded etcd is on the network")
		}
		w := &floorWriter{kv: kv.Service(), id: i, few: b.few, revs: make([][floorKeep]int64, floorJobs), cursors: make([]int64, floorJobs)}
		wg.Go(func() {
			if err := w.work(ctx, &runs); ctx.Err() == nil {
				failures <- err
			}
		})
	}
	wg.Wait()
	took, n := time.Since(began), float64(runs.Load())
	if len(failures) > 0 {
		return <-failures
	}
	say("etcd alone", "%.0f runs/s, %.1f us of processor for each", n/took.Seconds(), (usage()-used).Seconds()*1e6/n)
	if limit > 0 {
		say("etcd itself", "%.0f puts/s at %.1f us of processor", limit, cost.Seconds()*1e6)
	}
	return nil
}

// The key of the term, and the amounts of jobs and runs.
const (
	floorTerm  = "/rota/election/1"
	floorJobs  = 1000 // jobs of each writer
	floorBatch = 100  // runs in one transaction
	floorKeep  = 3    // kept runs of each job
)

// The sizes of the values that rota writes for a run with a short name, in bytes.
const (
	armedBytes   = 290 // written twice: to the record and to an order
	cursorBytes  = 120
	claimBytes   = 330
	outcomeBytes = 400
)

// floorWriter writes all records for the runs of its own jobs.
type floorWriter struct {
	kv      pb.KVClient
	id      int
	few     bool
	cursors []int64            // revision of the cursor of each job
	revs    [][floorKeep]int64 // revisions of the records of its last runs, by round
}

// work runs until ctx ends or etcd rejects a write, and counts runs.
func (w *floorWriter) work(ctx context.Context, runs *atomic.Int64) error {
	for round := 0; ; round++ {
		for first := 0; first < floorJobs; first += floorBatch {
			if err := w.batch(ctx, round, first); err != nil {
				return err
			}
			runs.Add(floorBatch)
		}
	}
}

// batch takes one run of each of floorBatch jobs from its decision to its end.
func (w *floorWriter) batch(ctx context.Context, round, first int) error {
	order := fmt.Sprintf("/rota/queues/%d/%d-%d", w.id, round, first)
	var decisions, claims, outcomes []*pb.RequestOp
	for j := first; j < first+floorBatch; j++ {
		decisions = append(decisions, w.decision(j, round))
	}
	if !w.few {
		decisions = append(decisions, putValue(order, armedBytes*floorBatch))
	}
	decided, err := w.commit(ctx, decisions, exists(floorTerm), exists(floorTerm)) // one of them in place of the guard of the gate
	if err != nil {
		return err
	}
	claimed := decided
	if !w.few {
		for j := first; j < first+floorBatch; j++ {
			claims = append(claims, w.replace(w.run(j, round), decided, claimBytes))
		}
		if claimed, err = w.commit(ctx, append(claims, deleteKey(order))); err != nil {
			return err
		}
	}
	for j := first; j < first+floorBatch; j++ {
		outcomes = append(outcomes, w.replace(w.run(j, round), claimed, outcomeBytes))
	}
	ended, err := w.commit(ctx, outcomes)
	for j := first; j < first+floorBatch; j++ {
		w.cursors[j], w.revs[j][round%floorKeep] = decided, ended
	}
	return err
}

// decision creates the record of a run, moves the job's cursor, and deletes the oldest run beyond the kept ones.
func (w *floorWriter) decision(j, round int) *pb.RequestOp {
	run, cursor := w.run(j, round), fmt.Sprintf("/rota/cursors/job-%d-%04d", w.id, j)
	guards := []*pb.Compare{modified(cursor, w.cursors[j])}
	if !w.few {
		guards = append(guards, modified(run, 0), exists(floorTerm)) // exists: in place of the guard of the definition
	}
	then := []*pb.RequestOp{putValue(run, armedBytes), putValue(cursor, cursorBytes)}
	if old := round - floorKeep; old >= 0 {
		guards = append(guards, modified(w.run(j, old), w.revs[j][old%floorKeep]))
		then = append(then, deleteKey(w.run(j, old)))
	}
	return nested(guards, then...)
}

func (w *floorWriter) replace(key string, rev int64, size int) *pb.RequestOp {
	return nested([]*pb.Compare{modified(key, rev)}, putValue(key, size))
}

func (w *floorWriter) run(j, round int) string {
	return fmt.Sprintf("/rota/runs/job-%d-%04d/2026-01-01T00:00:00.%06dZ", w.id, j, round)
}

// commit commits a transaction and returns its revision. It fails if a guard does not hold.
func (w *floorWriter) commit(ctx context.Context, then []*pb.RequestOp, guards ...*pb.Compare) (int64, error) {
	resp, err := w.kv.Txn(ctx, &pb.TxnRequest{Compare: guards, Success: then})
	if err != nil {
		return 0, err
	}
	held := resp.Succeeded
	for _, r := range resp.Responses {
		held = held && (r.GetResponseTxn() == nil || r.GetResponseTxn().Succeeded)
	}
	if !held {
		return 0, errors.New("a guard did not hold")
	}
	return resp.Header.Revision, nil
}

func modified(key string, rev int64) *pb.Compare {
	return &pb.Compare{Key: []byte(key), Target: pb.Compare_MOD, TargetUnion: &pb.Compare_ModRevision{ModRevision: rev}}
}

func exists(key string) *pb.Compare {
	return &pb.Compare{
		Key: []byte(key), Target: pb.Compare_CREATE, Result: pb.Compare_GREATER, TargetUnion: &pb.Compare_CreateRevision{},
	}
}

func putValue(key string, size int) *pb.RequestOp {
	r := &pb.PutRequest{Key: []byte(key), Value: []byte(strings.Repeat("x", size))}
	return &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: r}}
}

func deleteKey(key string) *pb.RequestOp {
	r := &pb.DeleteRangeRequest{Key: []byte(key)}
	return &pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: r}}
}

func nested(guards []*pb.Compare, then ...*pb.RequestOp) *pb.RequestOp {
	r := &pb.TxnRequest{Compare: guards, Success: then}
	return &pb.RequestOp{Request: &pb.RequestOp_RequestTxn{RequestTxn: r}}
}
