package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
	"github.com/rota-scheduler/rota/test/lacking"
)

// TestWorkersDiskIsFull fills the disk that holds a worker's journal and output, while runs execute there. Their outcomes are
// not lost. Until there is room again, the worker starts no new run and reports the full disk.
func TestWorkersDiskIsFull(t *testing.T) {
	row(t)
	t.Parallel()
	const runs = 20
	disk := smallDisk(t, "8m")
	ledger := NewLedger(t)
	gate := t.TempDir() + "/go"
	// Each run prints more bytes than a page of the journal has.
	talk := "while [ ! -e " + gate + " ]; do sleep 0.05; done; head -c 40000 /dev/zero | tr '\\0' x"
	c := Start(t, Config{Binary: binary, Replicas: 1, Flags: idle, Jobs: map[string]job.Spec{
		"talk": {Shell: ledger.Shell(talk), Overlap: job.OverlapAllow},
		"next": {Shell: ledger.Shell("")},
	}})
	w := c.AddWorker("w1", "--node-data-dir="+disk)
	for range runs {
		submit(t, c, "talk", api.RunRequest{})
	}
	Await(t, 30*time.Second, "the runs execute", func() bool { return len(ledger.Effects()) == runs })

	filler := fillDisk(t, disk)
	over := c.Outage() // so that the outcomes have to wait in the journal
	c.Replicas()[0].Stop()
	touch(t, gate)
	Await(t, 20*time.Second, "the jobs end", func() bool {
		for _, e := range ledger.Effects() {
			if e.Ended.IsZero() {
				return false
			}
		}
		return true
	})
	Await(t, 10*time.Second, "the worker says that its journal cannot be written", func() bool {
		return strings.Contains(w.Log(), "outcome is kept in memory only") && strings.Contains(w.Log(), "worker accepts no runs")
	})
	c.Replicas()[0].Cont()
	over()
	Await(t, 20*time.Second, "the outcomes are delivered", func() bool {
		for _, r := range c.Recorder.Runs("talk") {
			if r.State != job.Succeeded {
				return false
			}
		}
		return true
	})
	for _, r := range c.Recorder.Runs("talk") {
		if r.Attempt != 1 || !strings.Contains(r.Output, "no space left") {
			t.Errorf("run %s: attempt %d ended with the output %.80q, want the first, and a word about the disk", r.Name(), r.Attempt, r.Output)
		}
	}

	v := submit(t, c, "next", api.RunRequest{})
	Await(t, 20*time.Second, "the run waits, with a reason", func() bool {
		r := onlyRun(t, c, "next")
		return r.State == job.Pending && r.Reason != ""
	})
	text, ready, err := w.Client.Ready(t.Context())
	if err != nil || ready || !strings.Contains(text, "cannot be written to") {
		t.Errorf("readiness of a worker whose disk is full: got %v, %v: %s, want a no that names the disk", ready, err, text)
	}
	Let(3 * time.Second)
	if r := onlyRun(t, c, "next"); r.State != job.Pending || len(r.Attempts) > 0 {
		t.Errorf("run %s is %s, want pending while no worker takes anything", v.Name(), r.State)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	Await(t, 20*time.Second, "the run ends once there is room", func() bool { return onlyRun(t, c, "next").State == job.Succeeded })
	c.Check(ledger.Effects, nil, nil)
}

// TestReplicasDiskIsFull fills the disk of one of three replicas, with its member of etcd. The replica ends and reports why,
// the others continue, and it comes back when there is room.
func TestReplicasDiskIsFull(t *testing.T) {
	row(t)
	t.Parallel()
	disk := smallDisk(t, "200m") // etcd reserves two files of 64 MiB
	sink := NewSink(t)
	jobs := sink.Posts(10, job.Spec{})
	c := Start(t, Config{Binary: binary, Jobs: jobs, Flags: func(name string) []string {
		if name == "q1" {
			return []string{"--node-data-dir=" + disk}
		}
		return nil
	}})
	full := c.Replicas()[0]
	Await(t, 20*time.Second, "jobs run", func() bool { return len(sink.Requests()) > 20 })
	filler := fillDisk(t, disk)
	c.Harm(history.Fault{Kind: history.Drain, Node: full.Name, At: time.Now()}) // the runs that it executes are lost
	value := strings.Repeat("x", 1<<20)
	Await(t, 60*time.Second, full.Name+" ends", func() bool {
		put(t, c, "/filler", value) // the database of its member has to grow
		return !full.Running()
	})
	c.Heal(full.Name)
	if code := full.Await(time.Second); code == 0 || !strings.Contains(full.Tail(40), "no space left on device") {
		t.Errorf("%s ended with exit code %d, and does not say that there is no space left", full.Name, code)
	}
	c.Leader()
	asked := len(sink.Requests())
	Await(t, 30*time.Second, "jobs run on", func() bool { return len(sink.Requests()) > asked+20 })
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	full.Start()
	c.WaitReady()
	c.Check(sink.Requests, nil, nil)
}

// smallDisk mounts a file system with a size such as 8m.
func smallDisk(t *testing.T, size string) (dir string) {
	t.Helper()
	if os.Getuid() != 0 {
		lacking.Report(t, "needs root, to mount a small disk")
	}
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=0700,size="+size); err != nil {
		lacking.Report(t, "needs to mount a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}

// fillDisk writes a file that takes all free room.
func fillDisk(t *testing.T, dir string) (path string) {
	t.Helper()
	path = filepath.Join(dir, "filler")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, block := range [][]byte{make([]byte, 1<<16), make([]byte, 1<<12), make([]byte, 1)} {
		for err = nil; err == nil; {
			_, err = f.Write(block)
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("fill %s: %v: the fault took no effect", dir, err)
	}
	t.Logf("fault: %s is full", dir)
	return path
}
