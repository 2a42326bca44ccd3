package node

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/config"
)

// A file under a write lease cannot be opened, like a file on a file server that does not answer.
func TestASecretThatHangsIsLeftBehind(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "hook")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), syscall.F_SETLEASE, syscall.F_WRLCK); errno != 0 {
		t.Fatalf("lease: %v", errno)
	}
	n := &Node{secretReads: make(chan struct{}, 1)}
	n.set.Node.DataDir = t.TempDir()
	n.set.Hooks.Refs = config.Refs{Files: []string{dir + "/*"}}
	began := time.Now()
	if _, err := n.hookSecret("${file:" + path + "}"); err == nil || !strings.Contains(err.Error(), "no answer") {
		t.Errorf("got %v", err)
	}
	if took := time.Since(began); took > hookSecretTimeout+5*time.Second {
		t.Errorf("it took %v", took)
	}
	if _, err := n.hookSecret("${file:" + path + "}"); err == nil || !strings.Contains(err.Error(), "have not returned") {
		t.Errorf("a further read: %v", err)
	}
}
