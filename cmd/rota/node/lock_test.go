package node

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/store/embedded"
	"github.com/rota-scheduler/rota/test/buffer"
)

// TestADataDirIsOfOneProcess starts two processes with one data directory. They have no worker, so only the lock of the directory
// keeps them apart. Their etcd does not answer.
func TestADataDirIsOfOneProcess(t *testing.T) {
	t.Parallel()
	first, second := outside(t, "q1", "http://127.0.0.1:1"), outside(t, "q2", "http://127.0.0.1:1")
	first.Worker.Enabled, second.Worker.Enabled = false, false
	second.Node.DataDir = first.Node.DataDir
	r := launch(t, Config{Settings: first, Version: version})
	eventually(t, "the first one has its directory", func() bool {
		_, err := os.Stat(filepath.Join(first.Node.DataDir, "rota.lock"))
		return err == nil && strings.Contains(r.log.String(), "etcd does not answer")
	})

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	err := Run(ctx, Config{Settings: second, Version: version}, logger(&buffer.Buffer{}))
	if !IsConfig(err) || !strings.Contains(err.Error(), first.Node.DataDir+": in use by another process, held by process "+strconv.Itoa(os.Getpid())) {
		t.Errorf("a second process: got %v, want an error of configuration that names the directory and who has it", err)
	}
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	lock, err := embedded.LockDir(first.Node.DataDir, lockPatience)
	if err != nil {
		t.Fatalf("once the first one has ended: %v", err)
	}
	lock.Close()
}
