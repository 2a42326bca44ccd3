package worker

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	bolt "go.etcd.io/bbolt"

	"github.com/rota-scheduler/rota/test/files"
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

// entries returns the number of entries in j.
func entries(t *testing.T, j *Journal) (n int) {
	t.Helper()
	if err := j.db.View(func(tx *bolt.Tx) error {
		n = tx.Bucket(outcomesBucket).Stats().KeyN
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestJournal(t *testing.T) {
	t.Run("keeps the outcomes that were not removed", func(t *testing.T) {
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

	// The outcomes that share a sync share an entry. It goes with the last of them.
	t.Run("shares entries", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "journal.db")
		j := openJournal(t, path)
		var reports []*report
		var wg sync.WaitGroup
		for n := range 300 {
			r := sampleReport(n)
			r.Run.Payload = json.RawMessage("{\"text\":\n 1}")
			reports = append(reports, r)
			wg.Go(func() {
				if err := j.add(r); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := entries(t, j); n == 0 || n > 100 {
			t.Errorf("300 outcomes that were added together have %d entries", n)
		}
		for _, r := range reports[1:] {
			j.remove(r)
			j.remove(r)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		j = openJournal(t, path)
		left, unreadable := j.load()
		if n := entries(t, j); n != 1 || len(left) == 0 || len(unreadable) > 0 {
			t.Fatalf("%d entries with %d outcomes are left, and %v; want the entry of the first outcome", n, len(left), unreadable)
		}
		for _, r := range left {
			j.remove(r)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if n := entries(t, openJournal(t, path)); n != 0 {
			t.Errorf("%d entries are left, want none", n)
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

	// If they did not lie side by side, each of many outcomes would write a page of its own.
	t.Run("keeps side by side the outcomes that are added one after another", func(t *testing.T) {
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
				t.Errorf("outcomes lie in the order %v, want the order of their addition, %v", order(got), want)
			}
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})

	t.Run("removes an outcome of an older version", func(t *testing.T) {
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

	t.Run("keeps unreadable entries", func(t *testing.T) {
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

	t.Run("refuses a file that is no journal", func(t *testing.T) {
		path := files.Write(t, filepath.Join(t.TempDir(), "journal.db"), make([]byte, 1<<16))
		if j, err := OpenJournal(path); err == nil {
			j.Close()
			t.Error("OpenJournal() = nil, want an error")
		}
	})

	t.Run("replaces a file whose creation did not finish", func(t *testing.T) {
		whole := filepath.Join(t.TempDir(), "journal.db")
		if err := openJournal(t, whole).Close(); err != nil {
			t.Fatal(err)
		}
		made, err := os.ReadFile(whole)
		if err != nil {
			t.Fatal(err)
		}
		for _, pages := range []int{0, 1, 2, 3} {
			path := files.Write(t, filepath.Join(t.TempDir(), "journal.db"), made[:pages*journalPage])
			j := openJournal(t, path)
			if err := j.add(sampleReport(1)); err != nil {
				t.Fatal(err)
			}
			if got, unreadable := j.load(); len(got) != 1 || len(unreadable) > 0 {
				t.Errorf("of %d pages: journal holds %d outcomes and %v, want one", pages, len(got), unreadable)
			}
		}
	})

	t.Run("is not written when it is opened, since the disk may be full", func(t *testing.T) {
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

	t.Run("returns an error after Close", func(t *testing.T) {
		j := openJournal(t, filepath.Join(t.TempDir(), "journal.db"))
		j.Close()
		if err := j.add(sampleReport(1)); err == nil {
			t.Error("add() = nil after Close, want an error")
		}
		j.remove(sampleReport(1))
	})
}
