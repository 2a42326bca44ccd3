package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/hashicorp/go-hclog"
	bolt "go.etcd.io/bbolt"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

func openJournal(t *testing.T, path string) *Journal {
	t.Helper()
	j, err := OpenJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func sampleReport(n int) *report {
	exit := 3
	at := time.Date(2026, 11, 21, 2, 30, 0, 5, time.UTC)
	run := job.Run{
		Job: "backup", ID: fmt.Sprint(n), Kind: job.KindScheduled, Slot: at, Due: at, State: job.Running, Attempt: 1,
		Worker: "w1", Session: "s1", Token: int64(n), Started: at, Created: at, Rev: int64(n + 1),
	}
	return &report{
		Run: run, Rev: run.Rev,
		Outcome: job.Outcome{State: job.Failed, At: at, Reason: "exit code 3", Exit: &exit, Output: "x"},
		Again:   &policy.Retry{Due: at.Add(time.Minute), Reason: "retry 1 of 3"},
	}
}

func TestJournal(t *testing.T) {
	t.Run("keeps what is not forgotten, in full", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "journal.db")
		j := openJournal(t, path)
		var kept []*report
		for n := range 3 {
			kept = append(kept, sampleReport(n))
			if err := j.add(kept[n]); err != nil {
				t.Fatal(err)
			}
		}
		j.remove(kept[1])
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		got, unreadable := openJournal(t, path).load()
		if diff := cmp.Diff([]*report{sampleReport(0), sampleReport(2)}, got, cmpopts.IgnoreUnexported(report{})); diff != "" || len(unreadable) > 0 {
			t.Errorf("journal holds (-want +got) and %v:\n%s", unreadable, diff)
		}
	})

	t.Run("shares syncs", func(t *testing.T) {
		j := openJournal(t, filepath.Join(t.TempDir(), "journal.db"))
		before := j.db.Stats()
		var wg sync.WaitGroup
		const n = 500
		for i := range n {
			wg.Go(func() {
				if err := j.add(sampleReport(i)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if got, _ := j.load(); len(got) != n {
			t.Errorf("journal holds %d outcomes, want %d", len(got), n)
		}
		all := j.db.Stats()
		if diff := all.Sub(&before); diff.TxStats.GetWrite() > n {
			t.Errorf("%d outcomes took %d writes to the file", n, diff.TxStats.GetWrite())
		}
	})

	// Or else each of a herd's outcomes has a page of its own to write.
	t.Run("keeps side by side what comes one after another", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "journal.db")
		order := func(reports []*report) (names []string) {
			for _, r := range reports {
				names = append(names, r.Run.ID)
			}
			return names
		}
		var want []string
		for _, life := range [][]int{{9, 3}, {7, 1}} {
			j := openJournal(t, path)
			for _, n := range life {
				r := sampleReport(n)
				if err := j.add(r); err != nil {
					t.Fatal(err)
				}
				want = append(want, r.Run.ID)
			}
			if got, _ := j.load(); !slices.Equal(order(got), want) {
				t.Errorf("outcomes lie in the order %v, want that of their coming, %v", order(got), want)
			}
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})

	t.Run("forgets what an older version kept", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "journal.db")
		j, r := openJournal(t, path), sampleReport(1)
		value, err := r.encode()
		if err == nil {
			err = j.db.Update(func(tx *bolt.Tx) error { return tx.Bucket(outcomesBucket).Put([]byte(r.key()), value) })
		}
		if err != nil {
			t.Fatal(err)
		}
		got, _ := j.load()
		if len(got) != 1 {
			t.Fatalf("journal holds %d outcomes, want 1", len(got))
		}
		j.remove(got[0])
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if got, _ := openJournal(t, path).load(); len(got) != 0 {
			t.Errorf("journal holds %d outcomes, want none", len(got))
		}
	})

	t.Run("leaves alone what it cannot read", func(t *testing.T) {
		j := openJournal(t, filepath.Join(t.TempDir(), "journal.db"))
		err := j.db.Update(func(tx *bolt.Tx) error { return tx.Bucket(outcomesBucket).Put([]byte("bad"), []byte("{")) })
		if err != nil {
			t.Fatal(err)
		}
		if err := j.add(sampleReport(1)); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if got, unreadable := j.load(); len(got) != 1 || len(unreadable) != 1 {
				t.Errorf("load() = %d outcomes and %v, want one of each", len(got), unreadable)
			}
		}
	})

	t.Run("refuses a file that is not one", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "journal.db")
		if err := os.WriteFile(path, make([]byte, 1<<16), 0o600); err != nil {
			t.Fatal(err)
		}
		if j, err := OpenJournal(path); err == nil {
			j.Close()
			t.Error("OpenJournal() = nil, want an error")
		}
	})

	t.Run("begins anew where it was not made to the end", func(t *testing.T) {
		whole := filepath.Join(t.TempDir(), "journal.db")
		if err := openJournal(t, whole).Close(); err != nil {
			t.Fatal(err)
		}
		made, err := os.ReadFile(whole)
		if err != nil {
			t.Fatal(err)
		}
		for _, pages := range []int{0, 1, 2, 3} {
			path := filepath.Join(t.TempDir(), "journal.db")
			if err := os.WriteFile(path, made[:pages*journalPage], 0o600); err != nil {
				t.Fatal(err)
			}
			j := openJournal(t, path)
			if err := j.add(sampleReport(1)); err != nil {
				t.Fatal(err)
			}
			if got, unreadable := j.load(); len(got) != 1 || len(unreadable) > 0 {
				t.Errorf("of %d pages: journal holds %d outcomes and %v, want one", pages, len(got), unreadable)
			}
		}
	})

	t.Run("is not written to by being opened, as a full disk would not take it", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "journal.db")
		j := openJournal(t, path)
		if err := errors.Join(j.add(sampleReport(1)), j.Close()); err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := openJournal(t, path).load(); len(got) != 1 {
			t.Errorf("journal holds %d outcomes, want one", len(got))
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
			t.Errorf("the file has changed, or cannot be read: %v", err)
		}
	})

	t.Run("gives payloads back byte for byte", func(t *testing.T) {
		j := openJournal(t, filepath.Join(t.TempDir(), "journal.db"))
		r := sampleReport(1)
		r.Run.Payload = json.RawMessage(`{"text":"a<b> & ü\u2028"}`)
		if err := j.add(r); err != nil {
			t.Fatal(err)
		}
		if got, _ := j.load(); len(got) != 1 || string(got[0].Run.Payload) != string(r.Run.Payload) {
			t.Errorf("journal holds %+v, want the payload %s", got, r.Run.Payload)
		}
	})

	t.Run("says when it is closed", func(t *testing.T) {
		j := openJournal(t, filepath.Join(t.TempDir(), "journal.db"))
		j.Close()
		if err := j.add(sampleReport(1)); err == nil {
			t.Error("keep() = nil after Close, want an error")
		}
		j.remove(sampleReport(1))
	})
}

func TestRestart(t *testing.T) {
	down := func(string, *job.Run) fault { return refused }
	up := func(string, *job.Run) fault { return none }

	t.Run("delivers what a shutdown left in the journal before it opens a session", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, lasting(time.Second))
			r.start()
			name, _ := r.one()
			after(100 * time.Millisecond)
			r.store.set(func() { r.store.fault = down })
			if err := r.finish(); err != nil {
				t.Fatal(err)
			}
			if err := r.journal.Close(); err != nil {
				t.Fatal(err)
			}
			r.wantState(name, job.Running)

			second := newRig(t, lasting(time.Second))
			second.cfg.DataDir, second.store = r.cfg.DataDir, r.store
			r.store.set(func() { r.store.fault = up })
			second.sessions.opening = func() { r.wantState(name, job.Succeeded) }
			second.start()
			after(2 * time.Second)
			second.wantState(name, job.Succeeded)
			second.wantExecutions(0)
			second.wantJournal(0)
			if len(second.sessions.opened) != 1 {
				t.Errorf("%d sessions opened, want 1", len(second.sessions.opened))
			}
		})
	})

	t.Run("delivers once what a killed process left in the journal", func(t *testing.T) {
		for _, sent := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, lasting(time.Second))
				r.start()
				name, _ := r.one()
				after(100 * time.Millisecond)
				// The answer never comes; in one of the cases the write itself gets through.
				r.store.set(func() {
					r.store.fault = func(op string, _ *job.Run) fault {
						if sent && op == "write" {
							return applied
						}
						return refused
					}
				})
				time.Sleep(900*time.Millisecond + time.Nanosecond)
				synctest.Wait()
				dir := t.TempDir() // what the disk holds at the kill
				err := r.journal.db.View(func(tx *bolt.Tx) error { return tx.CopyFile(filepath.Join(dir, "journal.db"), 0o600) })
				if err != nil {
					t.Fatal(err)
				}
				if err := r.finish(); err != nil {
					t.Fatal(err)
				}

				second := newRig(t, lasting(time.Second))
				second.cfg.DataDir, second.store = dir, r.store
				r.store.set(func() { r.store.fault = up })
				second.start()
				after(2 * time.Second)
				second.wantState(name, job.Succeeded)
				second.wantJournal(0)
				if got := r.store.eventList(); len(got) != 0 {
					t.Errorf("events = %v, want none", got)
				}
			})
		}
	})

	t.Run("goes on without the store's answer after a while", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, lasting(time.Second))
			j := openJournal(t, r.cfg.DataDir+"/journal.db")
			if err := j.add(sampleReport(1)); err != nil {
				t.Fatal(err)
			}
			j.Close()
			r.store.fault = func(op string, run *job.Run) fault {
				if op == "write" && run.ID == "1" {
					return refused
				}
				return none
			}
			r.start()
			after(r.cfg.SettleTimeout - time.Millisecond)
			if r.session() != nil {
				t.Error("session opened before the outcome was settled")
			}
			after(time.Second)
			name, _ := r.one()
			after(2 * time.Second)
			r.wantState(name, job.Succeeded)
			r.wantJournal(1)
			r.store.set(func() { r.store.fault = up })
			after(3 * time.Second)
			r.wantJournal(0)
			if got := r.store.eventList(); len(got) != 1 {
				t.Errorf("events = %v, want that of the run which is gone", got)
			}
		})
	})
}

// BenchmarkAttempts measures whole attempts, journal and all, against a store that costs nothing.
func BenchmarkAttempts(b *testing.B) {
	dir := b.TempDir()
	j, err := OpenJournal(dir + "/journal.db")
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	store := newFakeStore()
	store.define("backup", job.Spec{Command: []string{"x"}})
	sessions := &fakeSessions{}
	exec := &fakeExecutor{do: func(context.Context, executor.Request) job.Outcome {
		return job.Outcome{State: job.Succeeded, At: time.Now()}
	}}
	done := make(chan struct{}, 1)
	n := 0
	store.wrote = func(run job.Run) {
		if run.State == job.Succeeded {
			if n++; n == b.N {
				close(done)
			}
		}
	}
	w := New(Config{Name: "w1", Capacity: 1 << 20, DataDir: dir}, store, sessions, exec, j, hclog.NewNullLogger())
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	for sessions.last() == nil {
		time.Sleep(time.Millisecond)
	}
	b.ResetTimer()
	for i := range b.N {
		store.give("w1", "s1", store.pending("backup", fmt.Sprint(i), time.Now()))
	}
	<-done
	b.StopTimer()
	stop()
	<-ended
}

// A store that was restored from a backup gives tokens out a second time.
func TestAnOutcomeIsThatOfOneAttempt(t *testing.T) {
	began := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	r := &report{Run: job.Run{Job: "j", ID: "i", State: job.Running, Token: 7, Started: began}}
	same, other := r.Run, r.Run
	other.Started = began.Add(time.Hour)
	if !r.open(&same) || r.open(&other) {
		t.Errorf("open: got %t for its own attempt and %t for another one with its token", r.open(&same), r.open(&other))
	}
}

func TestReportsAreWrittenAsEncodingJSONDoes(t *testing.T) {
	at := time.Date(2026, 11, 21, 2, 30, 0, 0, time.UTC)
	exit := 3
	for name, r := range map[string]report{
		"usual":   {Run: job.Run{Job: "a", ID: "b", Slot: at, Due: at, Created: at}, Rev: 7, Outcome: job.Outcome{State: job.Succeeded, At: at}},
		"again":   {Run: job.Run{Job: "a", ID: "b"}, Outcome: job.Outcome{At: at}, Again: &policy.Retry{Due: at, Reason: "x"}},
		"payload": {Run: job.Run{Job: "a", Payload: json.RawMessage(`{}`)}, Outcome: job.Outcome{At: at, Exit: &exit}},
		"strange": {Run: job.Run{Job: "a"}, Outcome: job.Outcome{At: at, Output: "\x00 <ü>"}},
	} {
		got, err := r.encode()
		if err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(r); err != nil {
			t.Fatal(err)
		}
		if string(got)+"\n" != want.String() {
			t.Errorf("%s:\n got %s\nwant %s", name, got, &want)
		}
	}
}
