package jobfiles

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"

	"github.com/rota-scheduler/rota/store"
	"github.com/rota-scheduler/rota/store/mem"
	"github.com/rota-scheduler/rota/test/files"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// replica is a replica that has only its job files. The test reads them and puts them in force.
type replica struct {
	*Files
	log    *bytes.Buffer
	hash   string
	note   string
	store  *store.Store  // nil without a store
	mirror *store.Mirror // nil without a store
}

func (r *replica) CatchUp(ctx context.Context) error {
	rev, err := r.store.Revision(ctx)
	if err != nil {
		return err
	}
	return r.mirror.WaitFor(ctx, rev)
}

func (r *replica) Now(context.Context) (time.Time, error) { return time.Now(), nil }

func (r *replica) ShowFiles(hash, note string) { r.hash, r.note = hash, note }

// alone returns a replica without a store, with the job files at path. Its memory is in dir.
func alone(path, dir string) *replica {
	log := &bytes.Buffer{}
	logger := hclog.New(&hclog.LoggerOptions{Level: hclog.Info, Output: log})
	r := &replica{log: log, Files: &Files{cfg: Config{Path: path, Node: filepath.Base(dir), DataDir: dir}, log: logger, newer: never}}
	r.replica = r
	return r
}

// beside starts a replica with a store and with the job files at path. dir is its data directory. The replica ends with the test,
// or when end is called.
func beside(t testing.TB, c *clientv3.Client, path, dir string) (r *replica, end func()) {
	t.Helper()
	r = alone(path, dir)
	s := store.New(store.Config{Prefix: "/rota", Process: filepath.Base(dir)}, c, hclog.NewNullLogger())
	r.store, r.mirror = s, store.NewMirror(s)
	r.Files.store, r.Files.mirror = s, r.mirror
	ctx, cancel := context.WithCancel(t.Context())
	var following sync.WaitGroup
	following.Go(func() { _ = r.mirror.Follow(ctx) })
	end = sync.OnceFunc(func() {
		cancel()
		following.Wait()
		s.Close()
	})
	t.Cleanup(end)
	if err := r.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.load()
	r.recall()
	return r, end
}

// enforced puts the files of r in force. It fails the test on an error.
func (r *replica) enforced(t testing.TB) {
	t.Helper()
	if err := r.enforce(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// edit replaces the files of r, and reads them.
func (r *replica) edit(t testing.TB, text string) {
	t.Helper()
	files.Replace(t, r.cfg.Path, text)
	r.read()
}

// wantJobs compares the jobs in the store with want, a list of name=description.
func (r *replica) wantJobs(t testing.TB, want string) {
	t.Helper()
	if err := r.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, j := range r.mirror.Jobs() {
		list = append(list, j.Name+"="+j.Spec.Description)
	}
	slices.Sort(list)
	if got := strings.Join(list, " "); got != want {
		t.Errorf("jobs: got %s, want %s", got, want)
	}
}

// client returns a client of an etcd in memory.
func client(t testing.TB) *clientv3.Client {
	server := mem.New(mem.Config{})
	t.Cleanup(func() { _ = server.Close() })
	return server.Client()
}

// dataDir returns a data directory for the replica of that name.
func dataDir(t testing.TB, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}
