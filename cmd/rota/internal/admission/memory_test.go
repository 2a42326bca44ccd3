package admission

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/store"
	"github.com/rota-scheduler/rota/test/poll"
)

func TestTheMemoryIsWrittenWhenItChanges(t *testing.T) {
	m, err := OpenMemory(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	keep := func(seen store.Observation, written bool) {
		t.Helper()
		_ = os.Remove(m.path)
		if err := m.Keep(seen); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(m.path); (err == nil) != written {
			t.Errorf("%+v: got %v, want it written: %t", seen, err, written)
		}
	}
	first, second := store.Observation{Cluster: "a", Revision: 1}, store.Observation{Cluster: "a", Revision: 2}
	keep(first, true)
	keep(first, false)
	inTheWay := m.path + ".new"
	if err := os.Mkdir(inTheWay, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := m.Keep(second); err == nil || m.Last() != second {
		t.Errorf("without a disk: got %v and %+v, want to know it all the same", err, m.Last())
	}
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	keep(second, true) // the disk rejected the earlier write of second
	keep(second, false)
}

// TestTheMemoryDoesNotWaitForAHangingDisk puts a pipe that nobody reads in the place of the file, so that opening it does not
// return.
func TestTheMemoryDoesNotWaitForAHangingDisk(t *testing.T) {
	m, err := OpenMemory(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	pipe := m.path + ".new"
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	last := store.Observation{Cluster: "a", Revision: 3}
	for _, seen := range []store.Observation{{Cluster: "a", Revision: 2}, last} {
		if err := m.Keep(seen); err == nil || m.Last() != seen {
			t.Errorf("got %v and %+v, want to know it all the same", err, m.Last())
		}
	}
	if waited := time.Since(began); waited > 10*time.Second {
		t.Errorf("it took %s", waited)
	}
	end, err := os.Open(pipe) // opens the other end of the pipe, so that the write continues
	if err != nil {
		t.Fatal(err)
	}
	defer end.Close()
	if _, err := io.Copy(io.Discard, end); err != nil {
		t.Error(err)
	}
	if err := os.Remove(pipe); err != nil { // remove the pipe, because a pipe cannot be synced
		t.Fatal(err)
	}
	poll.Until(t, "what was seen last is written", func() bool { return m.Keep(last) == nil })
	if again, err := OpenMemory(filepath.Dir(m.path)); err != nil || again.Last() != last {
		t.Errorf("the file says %+v, %v, want %+v", again.Last(), err, last)
	}
}

func TestAnUnreadableMemoryIsEmpty(t *testing.T) {
	dir := t.TempDir()
	m, err := OpenMemory(dir)
	if err != nil || m.Last().Revision != 0 {
		t.Fatalf("an empty directory: got %+v, %v", m.Last(), err)
	}
	if err := os.WriteFile(m.path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if m, err = OpenMemory(dir); err == nil || m.Last().Revision != 0 {
		t.Errorf("an empty file: got %+v, %v; want to be told", m.Last(), err)
	}
}
