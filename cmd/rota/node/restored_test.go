package node

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/cmd/rota/internal/admission"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store/embedded"
	"github.com/rota-scheduler/rota/test/ports"
)

// Texts in the reports of a process that waits because its store was restored.
const (
	putBack = "the store was restored: it is at revision "
	goneOn  = "the store was restored to a revision below " // and the store has reached a higher revision since
)

// waits checks that a process runs but is not ready, because its store was restored.
func (r *running) waits(t *testing.T, what string) {
	t.Helper()
	eventually(t, "it says that "+what, func() bool {
		text, ready, err := r.Ready(t.Context())
		return err == nil && !ready && strings.Contains(text, "[-]store failed: "+what)
	})
	if !strings.Contains(r.log.String(), "accept-restored-store") {
		t.Errorf("the log does not say what to do:\n%s", r.log)
	}
}

// restorable is an etcd that can be restored from a backup.
type restorable struct {
	t        *testing.T
	dir      string
	addr     string
	endpoint string
	end      func()
}

func newRestorable(t *testing.T) *restorable {
	e := &restorable{t: t, dir: t.TempDir(), addr: "http://" + ports.Addr(t)}
	e.endpoint, e.end = etcdOf(t, embedded.Config{Dir: e.dir, Client: e.addr})
	return e
}

// backup stops etcd, copies its data, and starts it again.
func (e *restorable) backup() string {
	e.t.Helper()
	e.end()
	to := e.t.TempDir()
	if err := os.CopyFS(to, os.DirFS(e.dir)); err != nil {
		e.t.Fatal(err)
	}
	_, e.end = etcdOf(e.t, embedded.Config{Dir: e.dir, Client: e.addr})
	return to
}

func (e *restorable) restore(dir string) {
	e.t.Helper()
	e.end()
	e.dir = dir
	_, e.end = etcdOf(e.t, embedded.Config{Dir: e.dir, Client: e.addr})
}

// outgrow writes to the store until the revision of the store exceeds known.
func (e *restorable) outgrow(known int64) {
	e.t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{e.endpoint}})
	if err != nil {
		e.t.Fatal(err)
	}
	defer c.Close()
	for reached := int64(0); reached <= known; {
		resp, err := c.Put(e.t.Context(), "/others", "x")
		if err != nil {
			e.t.Fatal(err)
		}
		reached = resp.Header.Revision
	}
}

// makeHistory runs a job a few times.
func (r *running) makeHistory(t *testing.T) {
	t.Helper()
	for range 5 {
		r.ends(t, r.submit(t, "work", api.RunRequest{}).Ref, job.Succeeded)
	}
}

// A process that has not read the store yet cannot know that there is nothing to accept.
func TestNothingIsAcceptedBeforeTheStoreAnswers(t *testing.T) {
	t.Parallel()
	r := launch(t, Config{Settings: outside(t, "q1", "http://127.0.0.1:1"), Version: version})
	if _, err := r.AcceptRestored(t.Context()); !errors.Is(err, api.ErrUnavailable) {
		t.Errorf("accept before the store answers: got %v, want that it is unavailable", err)
	}
}

func TestARestoredStoreWaitsToBeAccepted(t *testing.T) {
	t.Parallel()
	e := newRestorable(t)
	replica := Config{Settings: outside(t, "q1", e.endpoint), Version: version}
	worker := Config{Role: WorkerOnly, Settings: outside(t, "w1", e.endpoint), Version: version}
	r := start(t, replica)
	r.put(t, "work", job.Spec{Shell: "true"})
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	old := e.backup()
	r, w := start(t, replica), start(t, worker)
	r.makeHistory(t)
	if _, err := r.AcceptRestored(t.Context()); status(err) != 409 {
		t.Errorf("accept what nobody doubts: got %v, want 409", err)
	}
	for _, p := range []*running{w, r} {
		if err := p.end(); err != nil {
			t.Fatal(err)
		}
	}
	e.restore(old)

	r, w = launch(t, replica), launch(t, worker)
	r.waits(t, putBack)
	w.waits(t, putBack)
	if _, err := r.Cluster(t.Context()); status(err) != 503 || !strings.Contains(err.Error(), "accept-restored-store") {
		t.Errorf("status: got %v, want to be told what to do", err)
	}
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	if m, err := admission.OpenMemory(replica.Settings.Node.DataDir); err != nil || !m.Last().Restored {
		t.Errorf("what it knows: got %+v, %v, want that the store is held to be restored", m.Last(), err)
	}
	r = launch(t, replica) // the new process reads the memory of the old one
	r.waits(t, putBack)
	pageOffersAcceptance(t, "http://"+replica.Settings.HTTP.Listen)

	v, err := w.AcceptRestored(t.Context())
	if err != nil || v.Era != 1 || v.Lost <= 0 {
		t.Fatalf("accept: got %+v, %v", v, err)
	}
	r.node, w.node = <-r.up, <-w.up
	r.lead(t)
	if l, err := r.Audit(t.Context(), client.AuditFilter{Limit: 100}, ""); err != nil || !audited(l.Records, "accept-restored-store") {
		t.Errorf("audit records: got %+v, %v, want one of the acceptance", l.Records, err)
	}
	r.makeHistory(t)
	r.sound(t)
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	start(t, replica).lead(t) // an accepted store needs no second acceptance
}

// pageOffersAcceptance proves that the page of a process that waits leads to the form that accepts its store.
func pageOffersAcceptance(t *testing.T, base string) {
	t.Helper()
	for path, want := range map[string]string{"/jobs": `href="/do/accept-restored"`, "/do/accept-restored": "Accept a restored store"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		if _ = res.Body.Close(); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s of a process that waits: got %d, %v, %.1500s, want %s", path, res.StatusCode, err, text, want)
		}
	}
}

func TestARestoredStoreThatHasComeFurtherIsRecognised(t *testing.T) {
	t.Parallel()
	e := newRestorable(t)
	replica := Config{Settings: outside(t, "q1", e.endpoint), Version: version}
	r := start(t, replica)
	r.put(t, "tick", job.Spec{Every: job.Duration(time.Second), Shell: "true"})
	newest := int64(0)
	moves := func() bool {
		_, rev := r.node.mirror.NewestCursor()
		return rev > newest
	}
	eventually(t, "there is a cursor", moves)
	_, newest = r.node.mirror.NewestCursor()
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	old := e.backup()
	r = start(t, replica)
	eventually(t, "the cursor moves", moves)
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	known := r.node.memory.Last()
	e.restore(old)
	e.outgrow(known.Revision)
	launch(t, replica).waits(t, goneOn)
}

func TestAStoreThatIsRestoredUnderARunningProcessEndsIt(t *testing.T) {
	t.Parallel()
	e := newRestorable(t)
	replica := Config{Settings: outside(t, "q1", e.endpoint), Version: version}
	r := start(t, replica)
	r.put(t, "work", job.Spec{Shell: "true"})
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	old := e.backup()
	r = start(t, replica)
	r.makeHistory(t)
	known := r.node.memory.Last()
	eventually(t, "it has seen what there is", func() bool { return r.node.memory.Last().Revision > known.Revision })
	e.restore(old)
	r.stopped(t, putBack)
	_ = r.end()
	known = r.node.memory.Last()
	r = launch(t, replica)
	r.waits(t, putBack)
	e.outgrow(known.Revision)
	r.waits(t, goneOn)
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	r = launch(t, replica)
	r.waits(t, goneOn)
	if _, err := r.AcceptRestored(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.node = <-r.up
	r.lead(t)
}

// TestAStoreThatLostItsLastWritesEndsARunningProcess restores a backup while a process runs. The backup is newer than the memory
// on the process's disk, but older than the last answers of etcd.
func TestAStoreThatLostItsLastWritesEndsARunningProcess(t *testing.T) {
	t.Parallel()
	e := newRestorable(t)
	replica := Config{Settings: outside(t, "q1", e.endpoint), Version: version}
	r := start(t, replica)
	r.put(t, "work", job.Spec{Shell: "true"})
	known := func() int64 { return r.node.memory.Last().Revision }
	for restored := false; !restored; {
		r.makeHistory(t)
		eventually(t, "it has looked", func() bool { return known() >= r.node.store.Reached() })
		looked, old := known(), e.backup()
		r.lead(t)
		r.makeHistory(t)
		if restored = known() == looked; restored { // no poll since the backup, so the memory is older than the backup
			e.restore(old)
		}
	}
	r.stopped(t, putBack)
	_ = r.end()
	launch(t, replica).waits(t, putBack)
}

// TestARestoredStoreIsKnownByOneAnswer has a process get one answer of a store that was set back. The store has a higher revision
// again before the process looks at it. The process ends, and delivers nothing of the store to its parts meanwhile.
func TestARestoredStoreIsKnownByOneAnswer(t *testing.T) {
	t.Parallel()
	e := newRestorable(t)
	r := start(t, Config{Settings: outside(t, "q1", e.endpoint), Version: version})
	r.lead(t)
	s, seen := r.node.store, r.node.memory.Last()
	seen.Revision = s.Reached() + 1000
	s.ResetReached(seen) // as if it had got answers with this revision before the store was set back
	if _, err := s.Revision(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.outgrow(seen.Revision)
	before, _ := r.node.mirror.Current()
	r.stopped(t, putBack)
	if now, _ := r.node.mirror.Current(); now != before {
		t.Errorf("the mirror has gone on from revision %d to %d", before, now)
	}
}
