package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// book is a store with its own prefix, which holds the records of a cluster.
type book struct {
	t      *testing.T
	client *clientv3.Client
	prefix string
	term   int64
}

// minute returns the time n minutes after the start of the book. The start is 20 minutes before the time that runHere uses.
func minute(n int) time.Time { return time.Date(2026, 11, 21, 10, 40+n, 0, 0, time.UTC) }

// write puts records into the store in one transaction. It deletes a key whose record is nil.
func (b *book) write(records map[string]any) (rev int64) {
	b.t.Helper()
	var ops []clientv3.Op
	for _, key := range slices.Sorted(maps.Keys(records)) {
		if records[key] == nil {
			ops = append(ops, clientv3.OpDelete(b.prefix+"/"+key))
			continue
		}
		value, err := json.Marshal(records[key])
		if err != nil {
			b.t.Fatal(err)
		}
		ops = append(ops, clientv3.OpPut(b.prefix+"/"+key, string(value)))
	}
	resp, err := b.client.Txn(b.t.Context()).Then(ops...).Commit()
	if err != nil {
		b.t.Fatal(err)
	}
	return resp.Header.Revision
}

func (b *book) save(r job.Run, err error) job.Run {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	r.Rev = b.write(map[string]any{"runs/" + r.Name(): r})
	return r
}

func (b *book) cursor(n int) job.Cursor {
	return job.Cursor{Job: "tick", After: minute(n), Next: minute(n + 1), Generation: 1, Term: b.term}
}

// arm assigns the run of slot n to a worker.
func (b *book) arm(n int) job.Run {
	b.t.Helper()
	r := job.Run{
		Job: "tick", ID: job.SlotID(minute(n)), Kind: job.KindScheduled, Slot: minute(n), Due: minute(n), State: job.Pending, Created: minute(n),
		Generation: 1, Term: b.term,
	}
	r, err := r.Assign(&job.Worker{Name: "w", Session: "s"})
	if err != nil {
		b.t.Fatal(err)
	}
	r.Rev = b.write(map[string]any{"runs/" + r.Name(): r, "cursors/tick": b.cursor(n)})
	return r
}

func (b *book) claim(r job.Run) job.Run {
	b.t.Helper()
	return b.save(r.Claim(r.Rev, r.Due))
}

func (b *book) succeed(r job.Run) job.Run {
	b.t.Helper()
	return b.save(r.Finish(job.Outcome{State: job.Succeeded, At: r.Due.Add(500 * time.Millisecond)}))
}

// again assigns a run whose attempt failed to a worker again. The second attempt succeeds.
func (b *book) again(r job.Run) job.Run {
	b.t.Helper()
	r = b.save(r.Requeue(job.Outcome{State: job.Failed, At: r.Due}, r.Due, "tried again"))
	return b.succeed(b.claim(b.save(r.Assign(&job.Worker{Name: "w", Session: "s"}))))
}

// run reads the record of a run.
func (b *book) run(name string) (r job.Run) {
	b.t.Helper()
	resp, err := b.client.Get(b.t.Context(), b.prefix+"/runs/"+name)
	if err != nil || len(resp.Kvs) != 1 {
		b.t.Fatalf("read run %s: %v", name, err)
	}
	if err := json.Unmarshal(resp.Kvs[0].Value, &r); err != nil {
		b.t.Fatal(err)
	}
	r.Rev = resp.Kvs[0].ModRevision
	return r
}

// edit changes a record outside of rota.
func (b *book) edit(name string, change func(r *job.Run)) {
	b.t.Helper()
	r := b.run(name)
	change(&r)
	b.save(r, nil)
}

// waiting is the name of a submission that is not yet due.
const waiting = "tick/01waits"

// sound writes the records of a cluster without any violation. It has ten slots, of which the third has a retry, and one
// submission.
func (b *book) sound() {
	b.t.Helper()
	b.term = b.write(map[string]any{"election/a": map[string]string{"name": "q1"}})
	spec := job.Spec{Every: job.Duration(time.Minute), Command: []string{"true"}}.WithDefaults()
	b.write(map[string]any{"jobs/tick": job.Job{
		Name: "tick", Generation: 1, Created: minute(0), Updated: minute(0), Since: minute(0), SinceReason: job.SinceCreated, Spec: &spec,
	}})
	for n := 1; n <= 10; n++ {
		if r := b.claim(b.arm(n)); n == 3 {
			b.again(r)
		} else {
			b.succeed(r)
		}
	}
	b.save(job.Run{
		Job: "tick", ID: "01waits", Kind: job.KindDelayed, Slot: minute(60), Due: minute(60), State: job.Pending, Reason: job.ReasonNotYet,
		Created: minute(1), Generation: 1,
	}, nil)
}

// compacted removes the history of the store by a compaction.
func (b *book) compacted() {
	b.t.Helper()
	resp, err := b.client.Get(b.t.Context(), b.prefix)
	if err == nil {
		_, err = b.client.Compact(b.t.Context(), resp.Header.Revision)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// TestVerifyFindsBrokenInvariants breaks each invariant in a store in which all invariants hold.
func TestVerifyFindsBrokenInvariants(t *testing.T) {
	if testing.Short() {
		t.Skip("starts etcd")
	}
	e, client := startEtcd(t)
	slot := func(n int) string { return "tick/" + job.SlotID(minute(n)) }
	for i, tc := range []struct {
		name      string
		invariant int
		names     string // the broken record
		corrupt   func(b *book)
		compacted bool // verify finds the violation even after a compaction
	}{
		{"a slot's run is made a second time", 1, slot(5), func(b *book) {
			r := b.run(slot(5))
			b.write(map[string]any{"runs/" + slot(5): nil})
			b.save(r, nil)
		}, false},
		{"a terminal state is changed", 1, slot(5), func(b *book) { b.edit(slot(5), func(r *job.Run) { r.State = job.Failed }) }, false},
		{"a terminal state is changed, and its attempt was not", 3, slot(5), func(b *book) {
			b.edit(slot(5), func(r *job.Run) { r.State = job.Failed })
		}, true},
		{"a run is of another slot than its name says", 1, slot(5), func(b *book) { b.edit(slot(5), func(r *job.Run) { r.Slot = minute(50) }) }, true},
		{"a deposed leader moves the cursor", 2, "tick", func(b *book) {
			old := b.term
			b.term = b.write(map[string]any{"election/b": map[string]string{"name": "q2"}})
			b.succeed(b.claim(b.arm(11)))
			b.term = old
			b.succeed(b.claim(b.arm(12)))
		}, false},
		{"a leader of the future gives a run out", 2, slot(11), func(b *book) {
			b.term += 1 << 40
			b.succeed(b.claim(b.arm(11)))
		}, true},
		{"a token is lowered while its attempt runs", 3, slot(11), func(b *book) {
			b.claim(b.arm(11))
			b.edit(slot(11), func(r *job.Run) { r.Token-- })
		}, false},
		{"an outcome has another token than its claim", 3, slot(11), func(b *book) {
			r := b.claim(b.arm(11))
			r.Token--
			b.succeed(r)
		}, false},
		{"two attempts are out of order", 4, slot(3), func(b *book) {
			b.edit(slot(3), func(r *job.Run) { a := r.Attempts; a[0].Token, a[1].Token = a[1].Token, a[0].Token })
		}, true},
		{"a token is lowered to that of another run", 4, "tick/", func(b *book) {
			token := b.run(slot(4)).Attempts[0].Token
			b.edit(slot(5), func(r *job.Run) { r.Attempts[0].Token = token })
		}, true},
		{"tokens fall from run to run", 4, slot(11), func(b *book) {
			first := b.arm(11)
			b.succeed(b.claim(b.arm(12)))
			b.succeed(b.claim(first))
		}, false},
		{"a cursor is put back", 5, "tick", func(b *book) { b.write(map[string]any{"cursors/tick": b.cursor(5)}) }, true},
		{"a cursor is put ahead", 5, slot(11), func(b *book) { b.write(map[string]any{"cursors/tick": b.cursor(12)}) }, true},
		{"a run is deleted between two cursors", 5, slot(8), func(b *book) { b.write(map[string]any{"runs/" + slot(8): nil}) }, true},
		{"a run is deleted behind a recent failure", 5, slot(8), func(b *book) {
			r := b.claim(b.arm(11))
			b.save(r.Finish(job.Outcome{State: job.Failed, At: minute(11)}))
			b.write(map[string]any{"runs/" + slot(8): nil})
		}, false},
		{"one of the first runs is deleted", 5, slot(2), func(b *book) { b.write(map[string]any{"runs/" + slot(2): nil}) }, false},
		{"a run goes on after it succeeded", 6, slot(11), func(b *book) {
			r := b.claim(b.arm(11))
			b.save(r.Requeue(job.Outcome{State: job.Succeeded, At: minute(11)}, minute(11), "again"))
		}, true},
		{"an attempt that must not be repeated is", 6, slot(11), func(b *book) {
			r := b.claim(b.arm(11))
			r.Spec = &job.Spec{Command: []string{"true"}, Delivery: job.AtMostOnce}
			b.save(r.Requeue(job.Outcome{State: job.Lost, At: minute(11)}, minute(11), "again"))
		}, true},
		{"an accepted submission vanishes", 7, waiting, func(b *book) { b.write(map[string]any{"runs/" + waiting: nil}) }, false},
		{"a submission waits and does not say for what", 7, waiting, func(b *book) {
			b.edit(waiting, func(r *job.Run) { r.Due, r.Reason = minute(0), "" })
		}, true},
		{"a run is removed while it is at work", 7, slot(11), func(b *book) {
			b.claim(b.arm(11))
			b.write(map[string]any{"runs/" + slot(11): nil})
		}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := &book{t: t, client: client, prefix: fmt.Sprintf("/book-%d", i)}
			verify := func() (code int, out string) {
				t.Helper()
				code, out, stderr := runHere([]string{"HOME=/", "ROTA_NODE_NAME=x", "ROTA_ETCD_PREFIX=" + b.prefix}, "verify", "--endpoints", e.Endpoint())
				return code, out + stderr
			}
			b.sound()
			if code, said := verify(); code != exitOK || !strings.Contains(said, "1 jobs, 11 runs, 10 slots") {
				t.Fatalf("before: got %d, %s", code, said)
			}
			tc.corrupt(b)
			times := 1
			if tc.compacted {
				times = 2
			}
			for n := range times {
				if n > 0 {
					b.compacted()
				}
				code, said := verify()
				named := slices.ContainsFunc(strings.Split(said, "\n"), func(line string) bool {
					return strings.HasPrefix(line, fmt.Sprintf("BROKEN %d  %s", tc.invariant, tc.names))
				})
				if code != exitFailed || !named {
					t.Errorf("log compacted: %t: got %d, %s\nwant %d, and invariant %d of %s", n > 0, code, said, exitFailed, tc.invariant, tc.names)
				}
			}
		})
	}
	t.Run("a store that does not answer", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_ = client.Close()
		_ = e.Close()
		if code, _, _ := runHere([]string{"HOME=/", "ROTA_NODE_NAME=x"}, "verify", "--endpoints", e.Endpoint()); code != exitUnavailable || ctx.Err() != nil {
			t.Errorf("got %d, want %d", code, exitUnavailable)
		}
	})
}

// The client of etcd uses TLS for all endpoints or for none, so one kind would not be reached.
func TestEndpointsWithAndWithoutTLSAreRefused(t *testing.T) {
	for _, command := range []string{"verify", "doctor"} {
		var out, errs bytes.Buffer
		args := []string{command, "--endpoints", "http://127.0.0.1:1,https://127.0.0.1:2"}
		code := run(t.Context(), args, strings.NewReader(""), &out, &errs)
		if code != exitUsage || !strings.Contains(errs.String(), "has both http:// and https://") {
			t.Errorf("%s: got exit code %d, %s", command, code, &errs)
		}
	}
}
