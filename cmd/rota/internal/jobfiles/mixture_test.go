package jobfiles

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rota-scheduler/rota/test/files"
)

// TestFilesThatChangeDuringTheReadAreNotMixed moves a job between two files, as a mounted ConfigMap does: one link is replaced.
// A read that has the first file of one version and the second file of the next one would lose the job, or find it twice.
func TestFilesThatChangeDuringTheReadAreNotMixed(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.yaml", "z.yaml"} {
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	filler := strings.Fields(strings.Repeat("f ", 600))
	for i := range filler {
		filler[i] = fmt.Sprintf("f%d", i)
	}
	swap := func(version int) {
		hidden := fmt.Sprintf("..%d", version)
		texts := map[string]string{"a.yaml": files.Jobs("x", filler...), "z.yaml": files.Jobs("x", "other")}
		home := []string{"a.yaml", "z.yaml"}[version%2]
		texts[home] += strings.TrimPrefix(files.Jobs("x", "moves"), "jobs:\n")
		if err := os.Mkdir(filepath.Join(dir, hidden), 0o700); err != nil {
			t.Error(err)
		}
		for name, text := range texts {
			if err := os.WriteFile(filepath.Join(dir, hidden, name), []byte(text), 0o600); err != nil {
				t.Error(err)
			}
		}
		link := filepath.Join(dir, "..data")
		if err := os.Symlink(hidden, link+"_tmp"); err != nil {
			t.Error(err)
		}
		if err := os.Rename(link+"_tmp", link); err != nil {
			t.Error(err)
		}
	}
	swap(0)
	f := alone(dir, dataDir(t, "q1"))
	f.load()
	stop := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for version := 1; ; version++ {
			select {
			case <-stop:
				return
			default:
				swap(version)
			}
		}
	})
	changed := 0
	for range 30 {
		f.load()
		if f.unstable {
			changed++
		}
		f.unstable = false
		if _, there := f.set.Jobs["moves"]; !there || f.mistakes != nil {
			t.Errorf("the read found the job: %t; mistakes: %v", there, f.mistakes)
			break
		}
	}
	close(stop)
	swapping.Wait()
	if f.load(); f.unstable || f.mistakes != nil {
		t.Errorf("after the last change: unstable %t, mistakes %v", f.unstable, f.mistakes)
	}
	if changed == 0 && !t.Failed() {
		t.Error("no change met a read, so nothing was tested")
	}
}
