package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestAReplacedFileIsSyncedFirst(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "store.json")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	var synced []string // one entry for each sync: the name of the synced file, and the text at path at that time
	sync := func(f *os.File) error {
		text, err := os.ReadFile(path)
		synced = append(synced, filepath.Base(f.Name())+": "+string(text))
		return err
	}
	if err := replace(path, []byte("new"), sync); err != nil {
		t.Fatal(err)
	}
	want := []string{"store.json.new: old", filepath.Base(dir) + ": new"}
	if len(synced) != 2 || synced[0] != want[0] || synced[1] != want[1] {
		t.Errorf("synced %q, want %q", synced, want)
	}

	broken := errors.New("broken")
	if err := replace(path, []byte("newer"), func(*os.File) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("a disk that does not sync: got %v", err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "new" {
		t.Errorf("after that: got %q, %v, want what was there", text, err)
	}
}
