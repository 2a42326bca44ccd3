package worker

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
)

// TestADamagedJournalIsSetAside damages the file in the ways of a broken disk, or of a copy that is not complete. A new journal
// takes its place.
func TestADamagedJournalIsSetAside(t *testing.T) {
	overwrite := func(path string, from, pages int, fill func([]byte)) error {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		b := make([]byte, pages*journalPage)
		fill(b)
		_, err = f.WriteAt(b, int64(from*journalPage))
		return errors.Join(err, f.Close())
	}
	zeros := func([]byte) {}
	noise := func(b []byte) {
		random := rand.NewChaCha8([32]byte{})
		_, _ = random.Read(b)
	}
	noiseInFreeList := func(path string) error {
		db, err := bolt.Open(path, 0, &bolt.Options{ReadOnly: true, PreLoadFreelist: true})
		if err != nil {
			return err
		}
		list, ids := 0, make([]byte, 8*db.Stats().FreePageN)
		err = db.View(func(tx *bolt.Tx) error {
			p, err := tx.Page(list)
			for ; err == nil && p.Type != "freelist"; p, err = tx.Page(list) {
				list++
			}
			return err
		})
		noise(ids)
		f, failed := os.OpenFile(path, os.O_RDWR, 0)
		if failed != nil {
			return failed
		}
		_, failed = f.WriteAt(ids, int64(list*journalPage+16)) // behind the head of the page
		return errors.Join(err, failed, f.Close(), db.Close())
	}
	damages := map[string]func(path string) error{
		"both heads lost":                 func(path string) error { return overwrite(path, 0, 2, zeros) },
		"zeros":                           func(path string) error { return overwrite(path, 4, 8, zeros) },
		"noise":                           func(path string) error { return overwrite(path, 4, 8, noise) },
		"noise in the list of free pages": noiseInFreeList,
	}
	for _, pages := range []int{4, 5, 9, 20, 40} {
		damages[strconv.Itoa(pages)+" pages left"] = func(path string) error { return os.Truncate(path, int64(pages*journalPage)) }
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal.db")
			j := openJournal(t, path)
			if err := j.db.Update(func(tx *bolt.Tx) error {
				for n := range 100 {
					if err := tx.Bucket(outcomesBucket).Put([]byte(strconv.Itoa(n)), make([]byte, journalPage/2)); err != nil {
						return err
					}
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if err := j.db.Update(func(tx *bolt.Tx) error { // frees pages
				for n := range 20 {
					if err := tx.Bucket(outcomesBucket).Delete([]byte(strconv.Itoa(n))); err != nil {
						return err
					}
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			if err := damage(path); err != nil {
				t.Fatal(err)
			}
			if _, err := OpenJournal(path); !errors.Is(err, ErrDamaged) {
				t.Fatalf("got %v, want ErrDamaged", err)
			}
			to, err := SetAside(path, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(to); err != nil {
				t.Error(err)
			}
			if got, unreadable := openJournal(t, path).load(); len(got)+len(unreadable) > 0 {
				t.Errorf("the new journal has %d outcomes, and %v", len(got), unreadable)
			}
		})
	}
}

// TestAJournalThatCannotBeRead is not damaged. Nothing lies at the begin of this process's memory, so the kernel refuses to read it.
func TestAJournalThatCannotBeRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	if err := os.Symlink("/proc/self/mem", path); err != nil {
		t.Fatal(err)
	}
	if _, err := openIntact(path); !errors.Is(err, syscall.EIO) || errors.Is(err, ErrDamaged) {
		t.Errorf("got %v, want %v alone", err, syscall.EIO)
	}
}
