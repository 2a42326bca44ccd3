package node

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/store"
	"github.com/rota-scheduler/rota/test/ports"
)

func TestAReplacedFileIsOnTheDiskBeforeItIsThere(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "store.json")
	write(t, path, "old")
	var synced []string // each with what is at path by then
	sync := func(f *os.File) error {
		text, err := os.ReadFile(path)
		synced = append(synced, filepath.Base(f.Name())+": "+string(text))
		return err
	}
	if err := replaceSynced(path, []byte("new"), sync); err != nil {
		t.Fatal(err)
	}
	want := []string{"store.json.new: old", filepath.Base(dir) + ": new"}
	if len(synced) != 2 || synced[0] != want[0] || synced[1] != want[1] {
		t.Errorf("synced %q, want %q", synced, want)
	}

	broken := errors.New("broken")
	if err := replaceSynced(path, []byte("newer"), func(*os.File) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("a disk that does not sync: got %v", err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "new" {
		t.Errorf("after that: got %q, %v, want what was there", text, err)
	}
}

func TestTheMemoryIsWrittenWhenItChanges(t *testing.T) {
	m, err := openMemory(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	keep := func(seen store.Observation, written bool) {
		t.Helper()
		_ = os.Remove(m.path)
		if err := m.keep(seen); err != nil {
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
	if err := m.keep(second); err == nil || m.known() != second {
		t.Errorf("without a disk: got %v and %+v, want to know it all the same", err, m.known())
	}
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	keep(second, true) // what the disk did not take
	keep(second, false)
}

// A pipe that nobody reads is in the place of the file, so that its opening does not return.
func TestTheMemoryDoesNotWaitForADiskThatDoesNotAnswer(t *testing.T) {
	m, err := openMemory(t.TempDir())
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
		if err := m.keep(seen); err == nil || m.known() != seen {
			t.Errorf("got %v and %+v, want to know it all the same", err, m.known())
		}
	}
	if waited := time.Since(began); waited > 10*time.Second {
		t.Errorf("it took %s", waited)
	}
	end, err := os.Open(pipe) // what was stuck goes on
	if err != nil {
		t.Fatal(err)
	}
	defer end.Close()
	if _, err := io.Copy(io.Discard, end); err != nil {
		t.Error(err)
	}
	if err := os.Remove(pipe); err != nil { // which cannot be synced
		t.Fatal(err)
	}
	eventually(t, "what was seen last is written", func() bool { return m.keep(last) == nil })
	if again, err := openMemory(filepath.Dir(m.path)); err != nil || again.known() != last {
		t.Errorf("the file says %+v, %v, want %+v", again.known(), err, last)
	}
}

// Its etcd never starts: that would begin a second cluster, in which it votes as the member that it was.
func TestAMemberThatLostItsDataBeginsNoCluster(t *testing.T) {
	t.Parallel()
	set := settings(t, "q1")
	set.Etcd.Embedded.Cluster = "q1=" + set.Etcd.Embedded.Peer + ",q2=http://" + ports.Addr(t) + ",q3=http://" + ports.Addr(t)
	m, err := openMemory(set.Node.DataDir)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.keep(store.Observation{Cluster: "a", Revision: 7}); err != nil {
		t.Fatal(err)
	}
	r := launch(t, Config{Settings: set, Version: version})
	r.stopped(t, m.path+" knows the cluster of member q1")
	if err := r.end(); IsConfig(err) {
		t.Errorf("got %v as one of configuration: the others may be there at the next start", err)
	}
}
