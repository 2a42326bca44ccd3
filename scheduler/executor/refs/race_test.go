package refs_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor/refs"
	"github.com/rota-scheduler/rota/test/files"
)

// A job may be able to write the directory of its secrets. While it replaces a file by a link, no file out of reach must be read.
func TestALinkThatAppearsLeadsNowhere(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "open"), 0o700); err != nil {
		t.Fatal(err)
	}
	good, key, name := filepath.Join(dir, "open/good"), filepath.Join(dir, "key"), filepath.Join(dir, "open/secret")
	for _, path := range []string{good, key} {
		files.Write(t, path, path)
	}
	var swaps sync.WaitGroup
	end := make(chan struct{})
	swaps.Go(func() { // a file, then a link, and so on
		for next := filepath.Join(dir, "open/next"); ; {
			for _, place := range []func(string) error{
				func(to string) error { return os.WriteFile(to, []byte(good), 0o600) },
				func(to string) error { return os.Symlink(key, to) },
			} {
				_ = os.Remove(next)
				_ = place(next)
				_ = os.Rename(next, name)
			}
			select {
			case <-end:
				return
			default:
			}
		}
	})
	defer swaps.Wait()
	defer close(end)
	read := 0
	for began := time.Now(); time.Since(began) < time.Second; {
		r := refs.Resolver{Policy: &refs.Policy{Setting: "worker.refs", Files: []string{dir + "/open/*"}}}
		switch got, err := r.Expand("${file:" + name + "}"); {
		case got == key:
			t.Fatalf("a link that appeared was followed to %s", key)
		case err == nil:
			read++
		}
	}
	if read == 0 {
		t.Error("the file was never read")
	}
}
